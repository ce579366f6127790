"""A question to SmolLM2-135M-Instruct in tokens, and how its answer begins."""

# "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
# "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n", by the package `tokenizers`
PROMPT = [1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28, 7018, 411, 407, 19712, 8182, 2]
PROMPT += [198, 1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]
# "The capital of France is Paris"
ANSWER = [504, 3575, 282, 4649, 314, 7042]
