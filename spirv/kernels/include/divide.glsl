// n / d for every n, by the multiplier and the two shifts that the host has computed for d.
uint divide(const uint n, const uint multiplier, const uint shifts) {
    uint high;
    uint low;
    umulExtended(n, multiplier, high, low);
    return ((n - high >> (shifts & 0xffffu)) + high) >> (shifts >> 16);
}
