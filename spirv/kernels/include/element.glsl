// Stores of one element of ELEMENT_BITS bits, with 32-bit accesses only.
//
// `element` counts elements from word `base_word`, where a window starts. Within a word elements are little-endian.
// Constraint: a pattern narrower than 32 bits has zeros above it, and `high` is used by 64 bits only.

layout(set = 0, binding = 0, std430) buffer Words {
    uint words[];
};

#if ELEMENT_BITS == 8 || ELEMENT_BITS == 16

const uint ELEMENTS_PER_WORD = 32u / ELEMENT_BITS;
const uint ELEMENT_MASK = (1u << ELEMENT_BITS) - 1u;

uint element_word(uint base_word, uint element) {
    return base_word + element / ELEMENTS_PER_WORD;
}

uint element_shift(uint element) {
    return element % ELEMENTS_PER_WORD * ELEMENT_BITS;
}

// The element is zero before. Neighbours in the same word are written concurrently, hence atomics.
void store_on_zero(uint base_word, uint element, uint low, uint high) {
    atomicOr(words[element_word(base_word, element)], low << element_shift(element));
}

// Two atomics: nobody else touches these bits, and the other bits of the word keep their value.
void store(uint base_word, uint element, uint low, uint high) {
    const uint word = element_word(base_word, element);
    const uint shift = element_shift(element);
    atomicAnd(words[word], ~(ELEMENT_MASK << shift));
    if (low != 0u) {
        atomicOr(words[word], low << shift);
    }
}

#elif ELEMENT_BITS == 32

void store(uint base_word, uint element, uint low, uint high) {
    words[base_word + element] = low;
}

void store_on_zero(uint base_word, uint element, uint low, uint high) {
    store(base_word, element, low, high);
}

#elif ELEMENT_BITS == 64

void store(uint base_word, uint element, uint low, uint high) {
    const uint word = base_word + element * 2u;
    words[word] = low;
    words[word + 1u] = high;
}

void store_on_zero(uint base_word, uint element, uint low, uint high) {
    store(base_word, element, low, high);
}

#else
#error ELEMENT_BITS must be 8, 16, 32 or 64
#endif
