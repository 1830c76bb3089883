"""What a class needs of the book: editions, homework and its grading, a bundle without a network."""
