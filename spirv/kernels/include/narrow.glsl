// Storage buffers of elements of 8 and 16 bits: VK_KHR_8bit_storage and VK_KHR_16bit_storage, which whoever
// includes this enables. What a kernel does not use is left out when it is linked, with the capability that it
// needs.

#define NARROW_OPERAND(K)                                                                     \
    layout(set = 0, binding = K, std430) buffer Bytes##K { uint8_t bytes_##K[]; };             \
    layout(set = 0, binding = K, std430) buffer Halves##K { uint16_t halves_##K[]; };          \
    uint read_byte_##K(const uint at) { return uint(bytes_##K[(base_word(K) << 2) + at]); }    \
    uint read_half_##K(const uint at) { return uint(halves_##K[(base_word(K) << 1) + at]); }

NARROW_OPERAND(0)
NARROW_OPERAND(1)
NARROW_OPERAND(2)
NARROW_OPERAND(3)
NARROW_OPERAND(4)
NARROW_OPERAND(5)
NARROW_OPERAND(6)
NARROW_OPERAND(7)

void write_byte(const uint at, const uint value) {
    bytes_7[(base_word(OUTPUT) << 2) + at] = uint8_t(value);
}

void write_half(const uint at, const uint value) {
    halves_7[(base_word(OUTPUT) << 1) + at] = uint16_t(value);
}

// Calls all of them, so that the compiler keeps them.
uint every_narrow(const uint at) {
    const uint bytes = read_byte_0(at) + read_byte_1(at) + read_byte_2(at) + read_byte_3(at) + read_byte_4(at)
        + read_byte_5(at) + read_byte_6(at);
    const uint halves = read_half_0(at) + read_half_1(at) + read_half_2(at) + read_half_3(at) + read_half_4(at)
        + read_half_5(at) + read_half_6(at);
    write_byte(at, bytes);
    write_half(at, halves);
    return bytes + halves;
}
