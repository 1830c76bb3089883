"""What a teacher has and students do not: homework with its references, and what grades it; `python -m classroom`."""
