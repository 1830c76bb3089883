"""What a teacher has and students do not: editions, a bundle, homework with its references, and what grades it."""
