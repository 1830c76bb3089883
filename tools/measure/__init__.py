"""What only measures, apart from what `make book` and `make test` need."""
