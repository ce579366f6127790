// Writes one word to a range of words: what vkCmdFillBuffer does, for buffers without transfer usage.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/dispatch.glsl"
#include "include/element.glsl"
#include "include/runs.glsl"

// Mirrored by twins/fill_words.rs.
layout(push_constant, std430) uniform PushConstants {
    uint base_word;
    uint first_group;
    uint count;   // of the words, at least 1
    uint pattern;
} push;

void main() {
    Run run;
    if (!run_of(push.first_group, push.count, run)) {
        return;
    }
    for (uint turn = 0u; turn < run.count; ++turn) {
        words[push.base_word + run.first + turn * LOCAL_SIZE] = push.pattern;
    }
}
