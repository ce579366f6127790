//! A synthetic minute of speech-like audio, so that the example needs no recording.

use std::f32::consts::{PI, TAU};

/// Samples per second.
pub(crate) const RATE: u16 = 16_000;

/// The length of a syllable, in samples.
const SYLLABLE: u32 = 4_000;
/// The number of syllables in a sentence, of which the first ones are spoken.
const SENTENCE: u32 = 20;
const SPOKEN: u32 = 12;

/// The first three formants of some vowels, in Hz.
const VOWELS: [[f32; 3]; 5] = [
    [730.0, 1090.0, 2440.0],
    [270.0, 2290.0, 3010.0],
    [300.0, 870.0, 2240.0],
    [530.0, 1840.0, 2480.0],
    [570.0, 840.0, 2410.0],
];
const LOUDNESS: [f32; 3] = [1.0, 0.5, 0.25];
const WIDTH: f32 = 80.0;
const HARMONICS: u8 = 24;

/// Three-second sentences with pauses of two seconds, of a voice that rises and falls.
pub(crate) fn minute() -> Vec<f32> {
    let mut phase = 0.0;
    let mut sample = |number: u32| {
        let syllable = number / SYLLABLE;
        if syllable % SENTENCE >= SPOKEN {
            return 0.0;
        }
        let time = number as f32 / f32::from(RATE);
        let pitch = 120.0 + 30.0 * (TAU * 0.4 * time).sin() + 15.0 * (TAU * 2.0 * time).sin();
        phase = (phase + pitch / f32::from(RATE)) % 1.0;
        let progress = (number % SYLLABLE) as f32 / SYLLABLE as f32;
        let formants = formants(syllable, progress);
        let harmonic = |it: u8| {
            let resonance = |(center, loudness): (f32, f32)| {
                let distance = (f32::from(it) * pitch - center) / WIDTH;
                loudness / (1.0 + distance * distance)
            };
            let loudness: f32 = formants.into_iter().zip(LOUDNESS).map(resonance).sum();
            loudness * (TAU * f32::from(it) * phase).sin()
        };
        0.15 * (PI * progress).sin() * (1..=HARMONICS).map(harmonic).sum::<f32>()
    };
    (0..60 * u32::from(RATE)).map(&mut sample).collect()
}

/// The formants at a fraction of the way from one vowel to the next.
fn formants(syllable: u32, progress: f32) -> [f32; 3] {
    let [from, to] = [syllable, syllable + 1].map(|it| VOWELS[it as usize * 7 % VOWELS.len()]);
    std::array::from_fn(|it| from[it] + (to[it] - from[it]) * progress)
}
