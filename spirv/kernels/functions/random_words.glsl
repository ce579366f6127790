// Philox 4x32-10, by Salmon, Moraes, Dror and Shaw ("Parallel random numbers: as easy as 1, 2, 3", 2011): a
// counter of 128 bits becomes a block of four random words by ten rounds of multiplications with a key.
#version 450

uvec4 block_of(const uvec4 first, const uvec2 first_key) {
    uvec4 counter = first;
    uvec2 key = first_key;
    for (int i = 0; i < 10; ++i) {
        uint high_x;
        uint low_x;
        umulExtended(0xd2511f53u, counter.x, high_x, low_x);
        uint high_z;
        uint low_z;
        umulExtended(0xcd9e8d57u, counter.z, high_z, low_z);
        counter = uvec4(high_z ^ counter.y ^ key.x, low_z, high_x ^ counter.w ^ key.y, low_x);
        key += uvec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter;
}

// The counter that comes so many blocks later.
uvec4 later(const uvec4 counter, const uint by) {
    uvec4 sum = counter;
    uint carry = by;
    for (int i = 0; i < 4; ++i) {
        sum[i] += carry;
        carry = sum[i] < carry ? 1u : 0u;
    }
    return sum;
}

// The words with these numbers after states, each a counter and a key.
uvec4 philox(
    const uvec4 number,
    const uvec4 c0,
    const uvec4 c1,
    const uvec4 c2,
    const uvec4 c3,
    const uvec4 k0,
    const uvec4 k1
) {
    const uvec4 differs = (c0 ^ c0.x) | (c1 ^ c1.x) | (c2 ^ c2.x) | (c3 ^ c3.x) | (k0 ^ k0.x)
        | (k1 ^ k1.x) | (number ^ (uvec4(number.x & 0xfffffffcu) + uvec4(0u, 1u, 2u, 3u)));
    uvec4 words = uvec4(0u);
    for (int at = 0; at < 4; ++at) {
        const uvec4 counter = uvec4(c0[at], c1[at], c2[at], c3[at]);
        const uvec4 block = block_of(later(counter, number[at] >> 2), uvec2(k0[at], k1[at]));
        // Mostly the four are one block.
        if (differs == uvec4(0u)) {
            return block;
        }
        words[at] = block[number[at] & 3u];
    }
    return words;
}

// The words with these numbers of the states that come so many blocks later.
uvec4 philox_state(
    const uvec4 number,
    const uvec4 c0,
    const uvec4 c1,
    const uvec4 c2,
    const uvec4 c3,
    const uvec4 k0,
    const uvec4 k1,
    const uint blocks
) {
    uvec4 words = uvec4(0u);
    for (int at = 0; at < 4; ++at) {
        const uvec4 counter = later(uvec4(c0[at], c1[at], c2[at], c3[at]), blocks);
        const uint key = number[at] == 4u ? k0[at] : k1[at];
        words[at] = number[at] < 4u ? counter[number[at] & 3u] : key;
    }
    return words;
}
