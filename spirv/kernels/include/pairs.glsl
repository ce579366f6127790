// Numbers of about 46 digits and any exponent, on which functions are computed that are rounded once in the
// end: vec3(high, low, exponent) stands for (high + low) * 2^exponent, where low is at most half a unit in
// the last place of high. Only + - * and integers, so a device that rounds to nearest has no choice. No
// number on the way is subnormal that counts: high is a normal number near 1, or 0.
//
// Mirrored by src/functions/pairs.rs, operation by operation.

// The body of a function of four elements: what `of` is for the one `at`. A loop, since a CPU driver's
// compiler takes more than linear time; of its four iterations nobody runs short.
#define EACH(of) \
    uvec4 result = uvec4(0u); \
    for (int at = 0; at < 4; ++at) { \
        result[at] = of; \
    } \
    return result;

const int INFINITY = 0x7f800000;
const uint NAN = 0x7fc00000u;
const uint SIGN = 0x80000000u;
const vec3 ONE = vec3(1.0, 0.0, 0.0);

int magnitude(const uint a) {
    return int(a & 0x7fffffffu);
}

// No number, or 0 times infinity.
bool is_undefined_product(const uint a, const uint b) {
    const int greater = max(magnitude(a), magnitude(b));
    return greater > INFINITY || (greater == INFINITY && min(magnitude(a), magnitude(b)) == 0);
}

// 2^n of an integer from -126 to 127.
float power_of_two(const int n) {
    return intBitsToFloat((n + 127) << 23);
}

// A number of single precision. 0 is far below all others and infinity far above.
vec3 pair(const uint a) {
    const int bits = magnitude(a);
    const int is_subnormal = (bits - 0x00800000) >> 31;
    // The integer 2^149 times a subnormal number is a normal one, and exact.
    const int normal = bits ^ ((bits ^ floatBitsToInt(float(bits))) & is_subnormal);
    const int beyond = (8192 & ((INFINITY - 1 - bits) >> 31)) - (8192 & ((bits - 1) >> 31));
    const int exponent = (normal >> 23) - (149 & is_subnormal) - 127 + beyond;
    const uint high = (a & SIGN) | uint(normal & 0x007fffff) | 0x3f800000u;
    return vec3(uintBitsToFloat(high), 0.0, float(exponent));
}

// The nearest number of single precision; a subnormal one is made by integers.
uint rounded(const vec3 a) {
    const int bits = floatBitsToInt(a.x + a.y);
    const int normal = bits & 0x7fffffff;
    const int exponent = (normal >> 23) + int(a.z);
    const int significand = (normal & 0x007fffff) | 0x00800000;
    const int lacking = clamp(1 - exponent, 1, 25);
    const int kept = significand >> lacking;
    const int half_way = 1 << (lacking - 1);
    const int rest = significand - (kept << lacking);
    const int subnormal = kept + (rest + (kept & 1) > half_way ? 1 : 0);
    int result = exponent > 0 ? (exponent << 23) | (normal & 0x007fffff) : subnormal;
    result = exponent > 254 ? INFINITY : result;
    return (normal == 0 ? 0u : uint(result)) | (uint(bits) & SIGN);
}

// The same number with a high part from 1 to 2, where it is not 0.
vec3 normalized(const vec3 a) {
    const int exponent = (magnitude(floatBitsToUint(a.x)) >> 23) - 127;
    return vec3(a.xy * power_of_two(-exponent), a.z + float(exponent));
}

// As numbers without an exponent, from 2^-60 on and up to 2^60.
vec2 parts(const vec3 a) {
    return a.xy * power_of_two(clamp(int(a.z), -60, 60));
}

// a + b and what rounding lost of it, exactly (Knuth).
vec2 exact_sum(const float a, const float b) {
    const float sum = a + b;
    const float second = sum - a;
    return vec2(sum, (a - (sum - second)) + (b - second));
}

// The same where |a| is not less than |b| (Dekker).
vec2 ordered_sum(const float a, const float b) {
    const float sum = a + b;
    return vec2(sum, b - (sum - a));
}

// The upper 12 of the 24 digits.
float upper(const float a) {
    return uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
}

// a * b and what rounding lost of it, exactly: products of 12 digits are.
vec2 exact_product(const float a, const float b) {
    const float product = a * b;
    const vec2 high = vec2(upper(a), upper(b));
    const vec2 low = vec2(a, b) - high;
    const float rest = ((high.x * high.y - product) + high.x * low.y) + low.x * high.y;
    return vec2(product, rest + low.x * low.y);
}

vec3 opposite(const vec3 a) {
    return vec3(-a.x, -a.y, a.z);
}

vec3 plus(const vec3 a, const vec3 b) {
    const int exponent = max(int(a.z), int(b.z));
    const vec2 first = a.xy * power_of_two(max(int(a.z) - exponent, -60));
    const vec2 second = b.xy * power_of_two(max(int(b.z) - exponent, -60));
    const vec2 sum = exact_sum(first.x, second.x);
    return vec3(ordered_sum(sum.x, sum.y + (first.y + second.y)), float(exponent));
}

vec3 times(const vec3 a, const vec3 b) {
    const vec2 product = exact_product(a.x, b.x);
    return vec3(ordered_sum(product.x, product.y + (a.x * b.y + a.y * b.x)), a.z + b.z);
}

// 1 / b, to about the last place: Newton's method from an estimate that is wrong by 5 percent.
float reciprocal(const float b) {
    const float first = uintBitsToFloat(0x7ef127eau - floatBitsToUint(b));
    const float second = first * (2.0 - b * first);
    const float third = second * (2.0 - b * second);
    return third * (2.0 - b * third);
}

vec3 over(const vec3 a, const vec3 b) {
    const float inverse = reciprocal(b.x);
    const float quotient = a.x * inverse;
    const vec2 product = exact_product(quotient, b.x);
    const float rest = ((a.x - product.x) - product.y) + (a.y - quotient * b.y);
    return vec3(ordered_sum(quotient, rest * inverse), a.z - b.z);
}
