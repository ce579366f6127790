// Loads of one element of ELEMENT_BITS bits, with 32-bit accesses only; the counterpart of
// element.glsl for a tensor at binding 1 that nothing writes meanwhile.

layout(set = 0, binding = 1, std430) readonly buffer InputWords {
    uint input_words[];
};

// The low and the high word of the element, zero above its bits.
uvec2 load(uint base_word, uint element) {
#if ELEMENT_BITS == 8 || ELEMENT_BITS == 16
    const uint word = input_words[element_word(base_word, element)];
    return uvec2(word >> element_shift(element) & ELEMENT_MASK, 0u);
#elif ELEMENT_BITS == 32
    return uvec2(input_words[base_word + element], 0u);
#else
    const uint word = base_word + element * 2u;
    return uvec2(input_words[word], input_words[word + 1u]);
#endif
}
