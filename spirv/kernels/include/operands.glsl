// The storage buffers of a skeleton: up to seven inputs, and the output last.
//
// Each is declared three times, for accesses of one, two and four words; what a kernel does not use
// is left out when it is linked, and so is its binding.

const uint OPERANDS = 8u;
const uint OUTPUT = 7u;

#define OPERAND(K)                                                                       \
    layout(set = 0, binding = K, std430) buffer Words1_##K { uint words1_##K[]; };        \
    layout(set = 0, binding = K, std430) buffer Words2_##K { uvec2 words2_##K[]; };       \
    layout(set = 0, binding = K, std430) buffer Words4_##K { uvec4 words4_##K[]; };

OPERAND(0)
OPERAND(1)
OPERAND(2)
OPERAND(3)
OPERAND(4)
OPERAND(5)
OPERAND(6)
OPERAND(7)
