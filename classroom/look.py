"""Beside the tasks of homework: where the book teaches what each needs, and the parts of an answer that count alone."""

PARTS = {
    "3.2": ("the weights", "the first moment", "the second moment"),
    "3.4": ("the pictures", "the labels"),
}
LOOK = {  # a chapter, and a section of it
    "1.1": "01 How can all numbers move at once?", "1.2": "02 Must patches be separate?",
    "1.3": "02 Is it a matrix or a convolution?", "1.4": "03 Learned: a vector for each place",
    "1.5": "03 Does a Transformer notice that its patches are shuffled?",
    "2.1": "05 How do all tokens ask at once?", "2.2": "05 Why several heads?",
    "2.3": "06 What does LayerNorm do to a token?", "2.4": "06 What is in a block?",
    "2.5": "05 Why divide by √d?", "3.1": "10 How sure should a model be?",
    "3.2": "10 What does the W in AdamW change?", "3.3": "09 What stands around the four lines?",
    "3.4": "10 And what if the label changes, too?",
    "3.5": "09 Which pictures may choose?", "4.1": "13 How many tokens does a row read?",
    "4.2": "14 Along which weights could it have come?", "4.3": "14 What is lost without a patch?",
    "4.4": "14 How are shares made to add up?", "4.5": "14 How does one test an explanation?",
}  # fmt: skip
