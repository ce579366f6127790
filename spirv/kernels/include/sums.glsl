// Sums of one word, in the order that include/rows.glsl states: without anything linked that joins, which costs
// SwiftShader half of the time.
//
// With INTEGER they are of integers, which wrap, else of floats, each addition rounded.

#include "include/quads.glsl"
#include "include/result.glsl"

const uint BLOCK = 128u;
const uint LANES = 16u;
// 1 << LEVELS blocks are more than a row has.
const uint LEVELS = 7u;

// The neutral number changes no sum, not even one of -0.
#if INTEGER
#define NUMBERS uvec4
#define NUMBER uint
#define NEUTRAL 0u
#define FROM_BITS(bits) (bits)
#define TO_BITS(numbers) (numbers)
#else
#define NUMBERS vec4
#define NUMBER float
#define NEUTRAL uintBitsToFloat(0x80000000u)
#define FROM_BITS(bits) uintBitsToFloat(bits)
#define TO_BITS(numbers) floatBitsToUint(numbers)
#endif

// What is added of a quad: the neutral number in place of elements past its end.
NUMBERS elements_of(const uvec4 low, const uvec4 high, const uint x, const uint n) {
    uvec4 elements = TO_BITS(NUMBERS(NEUTRAL));
    uvec4 unused = uvec4(0u);
    linked_quad(low, high, x, n, elements, unused);
    return FROM_BITS(elements);
}

// Writes the sums of so many rows.
void write_sums(const uvec4 low, const uvec4 high, const uint x, const uint n, const NUMBERS sums) {
    uvec4 words = TO_BITS(sums);
    uvec4 unused = uvec4(0u);
    linked_row(low, high, x, n, words, unused);
}
