"""Bugs and healthy models, each built by a function: what `vl.doctor` is measured on."""
