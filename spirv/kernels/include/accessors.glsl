// Accesses to the operands' words, counted from where an operand's window starts, in units of one,
// two and four words. A window that is accessed by several words starts at a multiple of them.

#define ACCESSORS(K)                                                                     \
    uint read1_##K(const uint at) { return words1_##K[base_word(K) + at]; }               \
    uvec2 read2_##K(const uint at) { return words2_##K[(base_word(K) >> 1) + at]; }       \
    uvec4 read4_##K(const uint at) { return words4_##K[(base_word(K) >> 2) + at]; }

ACCESSORS(0)
ACCESSORS(1)
ACCESSORS(2)
ACCESSORS(3)
ACCESSORS(4)
ACCESSORS(5)
ACCESSORS(6)

void write1(const uint at, const uint word) {
    words1_7[base_word(OUTPUT) + at] = word;
}

void write2(const uint at, const uvec2 words) {
    words2_7[(base_word(OUTPUT) >> 1) + at] = words;
}

void write4(const uint at, const uvec4 words) {
    words4_7[(base_word(OUTPUT) >> 2) + at] = words;
}

// Replaces the bits of `mask` by those of `word`, which has no others. Two atomics: nobody else
// writes these bits, and the others keep their value.
void merge1(const uint at, const uint mask, const uint word) {
    atomicAnd(words1_7[base_word(OUTPUT) + at], ~mask);
    atomicOr(words1_7[base_word(OUTPUT) + at], word);
}

#ifdef SEGMENTS
// Writes to an operand that is not the output.
#define WRITERS(K)                                                                       \
    void write1_##K(const uint at, const uint word) { words1_##K[base_word(K) + at] = word; }                     \
    void merge1_##K(const uint at, const uint mask, const uint word) {                   \
        atomicAnd(words1_##K[base_word(K) + at], ~mask);                                 \
        atomicOr(words1_##K[base_word(K) + at], word);                                   \
    }

WRITERS(0)
WRITERS(1)
WRITERS(2)
WRITERS(3)
WRITERS(4)
WRITERS(5)
WRITERS(6)

// Makes all of these known to the linker.
void write_every(const uint at, const uint word) {
#define WRITE(K) write1_##K(at, word); merge1_##K(at, at, word);
    WRITE(0)
    WRITE(1)
    WRITE(2)
    WRITE(3)
    WRITE(4)
    WRITE(5)
    WRITE(6)
}
#endif
