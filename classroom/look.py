"""Beside the tasks of homework: where the book teaches what each needs, and the parts of an answer that count alone.

By the function that is asked for, for a class has the tasks in another order; by number, where words are.
"""

PARTS = {
    "adamw": ("the weights", "the first moment", "the second moment"),
    "pasted": ("the pictures", "the labels"),
}
LOOK = {  # a chapter, and a section of it
    "snake": "01 How can all numbers move at once?", "overlapping": "02 Must patches be separate?",
    "embed": "02 Is it a matrix or a convolution?", "sequence": "03 Learned: a vector for each place",
    "1.5": "03 Does a Transformer notice that its patches are shuffled?",
    "masked": "05 How do all tokens ask at once?", "split": "05 Why several heads?",
    "grouped_norm": "06 What does LayerNorm do to a token?", "mlp_block": "06 What is in a block?",
    "2.5": "05 Why divide by √d?", "smoothed": "10 How sure should a model be?",
    "adamw": "10 What does the W in AdamW change?", "clip": "09 What stands around the four lines?",
    "pasted": "10 And what if the label changes, too?", "3.5": "09 Which pictures may choose?",
    "looked_at": "13 How many tokens does a row read?", "rolled": "14 Along which weights could it have come?",
    "erased": "14 What is lost without a patch?", "moved_by": "14 How are shares made to add up?",
    "4.5": "14 How does one test an explanation?",
}  # fmt: skip
