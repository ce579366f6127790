// Sine, cosine, tangent and their inverses on four f32, each the bits of one word. Every result is a pair that
// is rounded once: off by less than 1 unit in the last place, of any angle.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/pairs.glsl"
#include "include/square_root.glsl"

const vec3 QUARTER_TURN = vec3(1.5707963705062866, -4.371138828673793e-08, 0.0);
const vec3 EIGHTH_TURN = vec3(0.7853981852531433, -2.1855694143348964e-08, 0.0);
// pi / 4, rounded down.
const int EIGHTH_TURN_BITS = 0x3f490fda;

// 32 digits of 2 / pi from the `at`-th word on; those before the first are 0.
uint digits(const int at) {
    const uint low = (at & 1) == 0 ? ((at & 2) == 0 ? 0u : 0x4e441529u)
                                   : ((at & 2) == 0 ? 0xa2f9836eu : 0xfc2757d1u);
    const uint high = (at & 1) == 0 ? ((at & 2) == 0 ? 0xf534ddc0u : 0x3c439041u)
                                    : ((at & 2) == 0 ? 0xdb629599u : 0xfe5163abu);
    return (at & 4) == 0 ? low : high;
}

// 32 digits from the `at`-th on.
uint digits_from(const int at) {
    const int by = at & 31;
    return (digits(at >> 5) << by) | ((digits((at >> 5) + 1) >> 1) >> (31 - by));
}

// What is left of an angle above pi / 4 when quarter turns are taken away, and their number modulo 4 as the
// last two bits of the second (Payne and Hanek, 1983): vec4(high, low, exponent, bits of the number).
//
// The angle is m * 2^(e - 23) with an integer m. Digits of 2 / pi that weigh 2^(25 - e) or more give whole
// turns; the 96 that follow times m, modulo 2^96, are the quarter turns times 2^94. No single-precision
// number is closer to one than 2^-31, so the 62 digits that are kept leave 31 correct ones.
vec4 reduced(const int angle) {
    const int exponent = (angle >> 23) - 127;
    const uint m = uint((angle & 0x007fffff) | 0x00800000);
    uint high_1, low_1, high_2, low_2;
    umulExtended(m, digits_from(exponent + 39), high_1, low_1);
    umulExtended(m, digits_from(exponent + 71), high_2, low_2);
    const uint second = low_1 + high_2;
    const uint first = m * digits_from(exponent + 7) + high_1 + (second < low_1 ? 1u : 0u);
    const uint turns = (first + 0x20000000u) >> 30;
    // From -1/2 to 1/2, times 2^64.
    const uint upper = (first << 2) | (second >> 30);
    const uint lower = second << 2;
    const bool is_negative = upper >= SIGN;
    const uint more = is_negative ? ~upper + (lower == 0u ? 1u : 0u) : upper;
    const uint less = is_negative ? ~lower + 1u : lower;
    const int by = 31 - findMSB(more);
    const uint leading = (more << by) | ((less >> 1) >> (31 - by));
    const uint trailing = less << by;
    const float high = float(leading >> 8);
    const float low = float(((leading & 0xffu) << 16) | (trailing >> 16)) * 5.9604644775390625e-08;
    const float unit = is_negative ? -1.1920928955078125e-07 : 1.1920928955078125e-07;
    const vec3 part = vec3(high * unit, low * unit, float(-1 - by));
    return vec4(times(part, QUARTER_TURN), float(turns));
}

vec4 angle(const int magnitude) {
    return magnitude <= EIGHTH_TURN_BITS ? vec4(pair(uint(magnitude)), 0.0) : reduced(magnitude);
}

// Up to pi / 4: a + a^3 * S(a^2). S and that of the cosine are interpolated at Chebyshev's nodes.
vec3 sine(const vec3 a) {
    const vec2 number = parts(a);
    const float square = number.x * number.x;
    float s = 2.724962087086169e-06;
    s = s * square - 0.00019840084132738411;
    s = s * square + 0.008333331905305386;
    s = s * square - 0.1666666716337204;
    const vec3 sum = vec3(ordered_sum(number.x, number.y + number.x * square * s), 0.0);
    return a.z < -30.0 ? a : sum;
}

// 1 - a^2 / 2 + a^4 * C(a^2).
vec3 cosine(const vec3 a) {
    const vec3 square = times(a, a);
    const vec2 number = parts(vec3(square.x, square.y, square.z - 1.0));
    const float whole = number.x * 2.0;
    float c = 2.4547689463361166e-05;
    c = c * whole - 0.0013888301327824593;
    c = c * whole + 0.0416666641831398;
    const vec2 sum = ordered_sum(1.0, -number.x);
    return vec3(ordered_sum(sum.x, (sum.y - number.y) + whole * whole * c), 0.0);
}

uint sin_of(const uint x) {
    const vec4 rest = angle(min(magnitude(x), INFINITY - 1));
    const int turns = int(rest.w);
    const uint result = rounded((turns & 1) == 0 ? sine(rest.xyz) : cosine(rest.xyz));
    const uint sign = (turns & 2) == 0 ? 0u : SIGN;
    return magnitude(x) >= INFINITY ? NAN : result ^ sign ^ (x & SIGN);
}

uvec4 sin_f32(const uvec4 a) {
    EACH(sin_of(a[at]))
}

uint cos_of(const uint x) {
    const vec4 rest = angle(min(magnitude(x), INFINITY - 1));
    const int turns = int(rest.w);
    const uint result = rounded((turns & 1) == 0 ? cosine(rest.xyz) : sine(rest.xyz));
    const uint sign = ((turns + 1) & 2) == 0 ? 0u : SIGN;
    return magnitude(x) >= INFINITY ? NAN : result ^ sign;
}

uvec4 cos_f32(const uvec4 a) {
    EACH(cos_of(a[at]))
}

uint tan_of(const uint x) {
    const vec4 rest = angle(min(magnitude(x), INFINITY - 1));
    const bool is_even = (int(rest.w) & 1) == 0;
    const vec3 s = sine(rest.xyz);
    const vec3 c = cosine(rest.xyz);
    const uint result = rounded(over(is_even ? s : c, is_even ? c : s));
    const uint sign = is_even ? 0u : SIGN;
    return magnitude(x) >= INFINITY ? NAN : result ^ sign ^ (x & SIGN);
}

uvec4 tan_f32(const uvec4 a) {
    EACH(tan_of(a[at]))
}

// atan(a) where |a| is at most tan(pi / 8): a + a^3 * T(a^2), T interpolated at Chebyshev's nodes.
vec3 small_angle(const vec3 a) {
    const vec2 number = parts(a);
    const float square = number.x * number.x;
    float t = 0.05046128109097481;
    t = t * square - 0.08623896539211273;
    t = t * square + 0.11071260273456573;
    t = t * square - 0.14284145832061768;
    t = t * square + 0.19999976456165314;
    t = t * square - 0.3333333432674408;
    const vec3 sum = vec3(ordered_sum(number.x, number.y + number.x * square * t), 0.0);
    return a.z < -30.0 ? a : sum;
}

// The angle of the point (x, y), neither of which is negative. With the lesser over the greater one,
// atan(t) = pi / 4 + atan((t - 1) / (t + 1)) makes the argument small.
vec3 angle_of(const vec3 y, const vec3 x) {
    const bool is_steep = plus(y, opposite(x)).x > 0.0;
    const vec3 less = is_steep ? x : y;
    const vec3 greater = is_steep ? y : x;
    const vec3 difference = plus(less, opposite(greater));
    const vec3 sum = plus(less, greater);
    // tan(pi / 8) (less + greater) is -(less - greater) where less / greater is tan(pi / 8).
    const vec3 turned = over(difference, sum);
    const bool is_near_0 = parts(turned).x < -0.41421356;
    const vec3 part = small_angle(is_near_0 ? over(less, greater) : turned);
    const vec3 acute = is_near_0 ? part : plus(EIGHTH_TURN, part);
    return is_steep ? plus(QUARTER_TURN, opposite(acute)) : acute;
}

uint atan_of(const uint x) {
    const uint result = rounded(angle_of(pair(uint(magnitude(x))), ONE)) | (x & SIGN);
    return magnitude(x) > INFINITY ? NAN : result;
}

uvec4 atan_f32(const uvec4 a) {
    EACH(atan_of(a[at]))
}

// pi less an angle.
vec3 supplement(const vec3 a) {
    return plus(vec3(QUARTER_TURN.xy, 1.0), opposite(a));
}

// Of (0, 0) it is that of (x, 0).
uint atan_yx_of(const uint y, const uint x) {
    const vec3 height = pair(uint(magnitude(y)));
    const float below = magnitude(y) == 0 ? 16384.0 : 0.0;
    const vec3 acute =
        angle_of(vec3(height.x, height.y, height.z - below), pair(uint(magnitude(x))));
    const uint result = rounded(x < SIGN ? acute : supplement(acute)) | (y & SIGN);
    return max(magnitude(y), magnitude(x)) > INFINITY ? NAN : result;
}

uvec4 atan_yx(const uvec4 a, const uvec4 b) {
    EACH(atan_yx_of(a[at], b[at]))
}

// The other side of a right triangle with the hypotenuse 1: sqrt((1 - x) (1 + x)).
vec3 other_side(const vec3 x) {
    return square_root(times(plus(ONE, opposite(x)), plus(ONE, x)));
}

uint asin_of(const uint x) {
    const vec3 number = pair(uint(magnitude(x)));
    const uint result = rounded(angle_of(number, other_side(number))) | (x & SIGN);
    return magnitude(x) > 0x3f800000 ? NAN : result;
}

uvec4 asin_f32(const uvec4 a) {
    EACH(asin_of(a[at]))
}

uint acos_of(const uint x) {
    const vec3 number = pair(uint(magnitude(x)));
    const vec3 acute = angle_of(other_side(number), number);
    const uint result = rounded(x < SIGN ? acute : supplement(acute));
    return magnitude(x) > 0x3f800000 ? NAN : result;
}

uvec4 acos_f32(const uvec4 a) {
    EACH(acos_of(a[at]))
}
