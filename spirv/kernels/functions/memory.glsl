// Loads and stores of a quad: four elements of a row, of ELEMENT_BITS bits, as raw bits. Elements of 4 bits are not stored.
//
// Classes of the innermost dimension:
//   whole    stride 1, every row a multiple of four elements that starts at a multiple of them
//   ragged   any stride, `n` elements of the four
//   single   stride 0, or elements that repeat in each quad (loads only)
//   displaced  as ragged, each element as much further on as its word of `by` says
//   moved    as whole, all elements as much further on as `by` says, a multiple of four (loads only)
// A register is four words: four elements, or two of 64 bits, the low word first. `part` tells which
// two of the quad. Bits above an element are zero.
#version 450

uint linked_read1(const uint at) { return 0u; }
uvec2 linked_read2(const uint at) { return uvec2(0u); }
uvec4 linked_read4(const uint at) { return uvec4(0u); }
void linked_write1(const uint at, const uint word) {}
void linked_write2(const uint at, const uvec2 words) {}
void linked_write4(const uint at, const uvec4 words) {}
void linked_merge1(const uint at, const uint mask, const uint word) {}
#ifdef NARROW_STORAGE
// Elements of a storage buffer of such: VK_KHR_8bit_storage, VK_KHR_16bit_storage.
uint linked_read_element(const uint at) { return 0u; }
void linked_write_element(const uint at, const uint value) {}
#endif

// What is displaced by this is neither loaded, but 0, nor stored.
const uint NOWHERE = 0xffffffffu;

// What is moved is loaded without a branch, which costs lavapipe half of the time: in place of nowhere, what is
// not moved.
uint far(const uint by) {
    return by == NOWHERE ? 0u : by;
}

uvec4 unless_nowhere(const uint by, const uvec4 value) {
    return by == NOWHERE ? uvec4(0u) : value;
}

#if ELEMENT_BITS == 64

uvec2 load_element(const uint e) {
    return uvec2(linked_read1(2u * e), linked_read1(2u * e + 1u));
}

uvec4 load_single(const uint e, const uint stride, const uint n, const uint part) {
    return load_element(e).xyxy;
}

uvec4 load_whole(const uint e, const uint stride, const uint n, const uint part) {
    return linked_read4((e >> 1) + part);
}

uvec4 load_ragged(const uint e, const uint stride, const uint n, const uint part) {
    const uint first = 2u * part;
    uvec4 value = uvec4(0u);
    if (first < n) {
        value.xy = load_element(e + first * stride);
    }
    if (first + 1u < n) {
        value.zw = load_element(e + (first + 1u) * stride);
    }
    return value;
}

uvec4 load_displaced(const uint e, const uint stride, const uint n, const uvec4 by, const uint part) {
    const uint first = 2u * part;
    const uvec2 far = part == 0u ? by.xy : by.zw;
    uvec4 value = uvec4(0u);
    if (first < n && far.x != NOWHERE) {
        value.xy = load_element(e + first * stride + far.x);
    }
    if (first + 1u < n && far.y != NOWHERE) {
        value.zw = load_element(e + (first + 1u) * stride + far.y);
    }
    return value;
}

uvec4 load_moved(const uint e, const uint stride, const uint n, const uvec4 by, const uint part) {
    return unless_nowhere(by.x, linked_read4((e + far(by.x) >> 1) + part));
}

void store_whole(const uint e, const uint stride, const uint n, const uint part, const uvec4 value) {
    linked_write4((e >> 1) + part, value);
}

void store_element(const uint e, const uvec2 value) {
    linked_write1(2u * e, value.x);
    linked_write1(2u * e + 1u, value.y);
}

void store_ragged(const uint e, const uint stride, const uint n, const uint part, const uvec4 value) {
    const uint first = 2u * part;
    if (first < n) {
        store_element(e + first * stride, value.xy);
    }
    if (first + 1u < n) {
        store_element(e + (first + 1u) * stride, value.zw);
    }
}

void store_displaced(const uint e, const uint stride, const uint n, const uvec4 by, const uint part, const uvec4 value) {
    const uint first = 2u * part;
    const uvec2 far = part == 0u ? by.xy : by.zw;
    if (first < n && far.x != NOWHERE) {
        store_element(e + first * stride + far.x, value.xy);
    }
    if (first + 1u < n && far.y != NOWHERE) {
        store_element(e + (first + 1u) * stride + far.y, value.zw);
    }
}

#else

#if ELEMENT_BITS == 32

uint load_element(const uint e) {
    return linked_read1(e);
}

void store_element(const uint e, const uint value) {
    linked_write1(e, value);
}

uvec4 load_quad(const uint e) {
    return linked_read4(e >> 2);
}

void store_quad(const uint e, const uvec4 value) {
    linked_write4(e >> 2, value);
}

#else

const uint PER_WORD = 32u / uint(ELEMENT_BITS);
const uint MASK = (1u << uint(ELEMENT_BITS)) - 1u;

#ifdef NARROW_STORAGE

uint load_element(const uint e) {
    return linked_read_element(e);
}

void store_element(const uint e, const uint value) {
    linked_write_element(e, value);
}

#else

uint load_element(const uint e) {
    return linked_read1(e / PER_WORD) >> e % PER_WORD * uint(ELEMENT_BITS) & MASK;
}

#if ELEMENT_BITS > 4

// Neighbours in the same word may be another invocation's, or no elements of the tensor.
void store_element(const uint e, const uint value) {
    const uint shift = e % PER_WORD * uint(ELEMENT_BITS);
    linked_merge1(e / PER_WORD, MASK << shift, (value & MASK) << shift);
}

#endif
#endif

#if ELEMENT_BITS == 16

uvec4 load_quad(const uint e) {
    const uvec2 words = linked_read2(e >> 2);
    return uvec4(words.x & MASK, words.x >> 16, words.y & MASK, words.y >> 16);
}

void store_quad(const uint e, const uvec4 value) {
    const uvec4 bits = value & MASK;
    linked_write2(e >> 2, uvec2(bits.x | bits.y << 16, bits.z | bits.w << 16));
}

#elif ELEMENT_BITS == 8

uvec4 load_quad(const uint e) {
    return uvec4(linked_read1(e >> 2)) >> uvec4(0u, 8u, 16u, 24u) & MASK;
}

void store_quad(const uint e, const uvec4 value) {
    const uvec4 bits = value & MASK;
    linked_write1(e >> 2, bits.x | bits.y << 8 | bits.z << 16 | bits.w << 24);
}

#else

// The first four of a word, or the other ones.
uvec4 load_quad(const uint e) {
    return uvec4(linked_read1(e >> 3)) >> ((e & 4u) << 2) + uvec4(0u, 4u, 8u, 12u) & MASK;
}

#endif
#endif

#if ELEMENT_BITS < 32

// The words of sixteen elements or, of 16 bits, eight, which begin at a multiple of as many.
uvec4 load_packed(const uint e) {
#if ELEMENT_BITS == 4
    return linked_read2(e >> 4).xyxy;
#else
    return linked_read4(e / (4u * PER_WORD));
#endif
}

// A quad of them.
uvec4 unpacked(const uvec4 words, const uint quad) {
    const bool is_even = (quad & 1u) == 0u;
#if ELEMENT_BITS == 4
    return uvec4(quad < 2u ? words.x : words.y) >> (is_even ? 0u : 16u) + uvec4(0u, 4u, 8u, 12u) & MASK;
#elif ELEMENT_BITS == 8
    const uvec2 pair = quad < 2u ? words.xy : words.zw;
    return uvec4(is_even ? pair.x : pair.y) >> uvec4(0u, 8u, 16u, 24u) & MASK;
#else
    const uvec2 pair = is_even ? words.xy : words.zw;
    return uvec4(pair.x & MASK, pair.x >> 16, pair.y & MASK, pair.y >> 16);
#endif
}

#endif

uvec4 load_single(const uint e, const uint stride, const uint n, const uint part) {
    return uvec4(load_element(e));
}

uvec4 load_whole(const uint e, const uint stride, const uint n, const uint part) {
    return load_quad(e);
}

uvec4 load_ragged(const uint e, const uint stride, const uint n, const uint part) {
    uvec4 value = uvec4(load_element(e), 0u, 0u, 0u);
    if (n > 1u) {
        value.y = load_element(e + stride);
    }
    if (n > 2u) {
        value.z = load_element(e + 2u * stride);
    }
    if (n > 3u) {
        value.w = load_element(e + 3u * stride);
    }
    return value;
}

uvec4 load_displaced(const uint e, const uint stride, const uint n, const uvec4 by, const uint part) {
    uvec4 value = uvec4(0u);
    if (by.x != NOWHERE) {
        value.x = load_element(e + by.x);
    }
    if (n > 1u && by.y != NOWHERE) {
        value.y = load_element(e + stride + by.y);
    }
    if (n > 2u && by.z != NOWHERE) {
        value.z = load_element(e + 2u * stride + by.z);
    }
    if (n > 3u && by.w != NOWHERE) {
        value.w = load_element(e + 3u * stride + by.w);
    }
    return value;
}

uvec4 load_moved(const uint e, const uint stride, const uint n, const uvec4 by, const uint part) {
    return unless_nowhere(by.x, load_quad(e + far(by.x)));
}

#if ELEMENT_BITS > 4

void store_whole(const uint e, const uint stride, const uint n, const uint part, const uvec4 value) {
    store_quad(e, value);
}

#if ELEMENT_BITS < 32 && !defined(NARROW_STORAGE)

// Bits of a word that are this quad's alone, or beside those of others.
void store_bits(const uint at, const uint mask, const uint word) {
    if (mask == 0xffffffffu) {
        linked_write1(at, word);
    } else if (mask != 0u) {
        linked_merge1(at, mask, word & mask);
    }
}

// Neighbours, from any place in a word: as many bits as `n` elements have, moved there.
void store_neighbours(const uint e, const uint n, const uvec4 value) {
    const uint shift = e % PER_WORD * uint(ELEMENT_BITS);
    const uint at = e / PER_WORD;
    const uvec4 bits = value & MASK;
#if ELEMENT_BITS == 8
    const uint word = bits.x | bits.y << 8 | bits.z << 16 | bits.w << 24;
    const uint mask = 0xffffffffu >> (4u - n) * 8u;
    store_bits(at, mask << shift, word << shift);
    // A shift of a word by 32 is undefined, so it is done in two.
    store_bits(at + 1u, mask >> 1 >> (31u - shift), word >> 1 >> (31u - shift));
#else
    const uvec2 words = uvec2(bits.x | bits.y << 16, bits.z | bits.w << 16);
    const uvec2 mask = uvec2(n > 1u ? 0xffffffffu : MASK, n > 3u ? 0xffffffffu : n > 2u ? MASK : 0u);
    const uvec2 left = words >> 1 >> (31u - shift);
    const uvec2 beyond = mask >> 1 >> (31u - shift);
    store_bits(at, mask.x << shift, words.x << shift);
    store_bits(at + 1u, mask.y << shift | beyond.x, words.y << shift | left.x);
    store_bits(at + 2u, beyond.y, left.y);
#endif
}

#endif

void store_ragged(const uint e, const uint stride, const uint n, const uint part, const uvec4 value) {
#if ELEMENT_BITS < 32 && !defined(NARROW_STORAGE)
    // `n` is never 0. lavapipe (Mesa 22.3) compiles a branch anew that uniforms alone decide, and leaks
    // what it compiled with each dispatch.
    if (stride == 1u && n > 0u) {
        store_neighbours(e, n, value);
        return;
    }
#endif
    store_element(e, value.x);
    if (n > 1u) {
        store_element(e + stride, value.y);
    }
    if (n > 2u) {
        store_element(e + 2u * stride, value.z);
    }
    if (n > 3u) {
        store_element(e + 3u * stride, value.w);
    }
}

void store_displaced(const uint e, const uint stride, const uint n, const uvec4 by, const uint part, const uvec4 value) {
    if (by.x != NOWHERE) {
        store_element(e + by.x, value.x);
    }
    if (n > 1u && by.y != NOWHERE) {
        store_element(e + stride + by.y, value.y);
    }
    if (n > 2u && by.z != NOWHERE) {
        store_element(e + 2u * stride + by.z, value.z);
    }
    if (n > 3u && by.w != NOWHERE) {
        store_element(e + 3u * stride + by.w, value.w);
    }
}

#endif
#endif

#if ELEMENT_BITS > 4

// Stores the quad `by` elements further on. `by` may be uniform, and must not be NOWHERE: a branch on it would be compiled
// in each dispatch, as store_ragged says.
void store_after(const uint e, const uint stride, const uint n, const uint by, const uint part, const uvec4 value) {
    store_ragged(e + by, stride, n, part, value);
}

#endif
