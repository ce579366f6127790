//! ONNX operators on signals, compared with explicit sums, and with ONNX Runtime's results.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::f64::consts::TAU;

use common::onnx::node;
use common::single::{check, check_near, refusal};
use common::{f32s, int64};

/// `of` pseudo-random elements.
fn noise(of: usize) -> Vec<f32> {
    (0..of).map(|it| ((it * 37 + 11) % 64) as f32 / 16. - 2.).collect()
}

/// The spectrum of complex numbers with `bins` bins, by its definition.
#[expect(clippy::cast_possible_truncation, reason = "rounded to what is compared")]
fn spectrum(signal: &[[f32; 2]], length: usize, bins: usize) -> Vec<f32> {
    let bin = |bin: usize| {
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (at, [re, im]) in signal.iter().take(length).map(|it| it.map(f64::from)).enumerate() {
            let (sin, cos) = (-TAU * (at * bin % length) as f64 / length as f64).sin_cos();
            real += re * cos - im * sin;
            imaginary += re * sin + im * cos;
        }
        [real as f32, imaginary as f32]
    };
    (0..bins).flat_map(bin).collect()
}

fn pairs(numbers: &[f32]) -> Vec<[f32; 2]> {
    numbers.chunks_exact(2).map(|it| [it[0], it[1]]).collect()
}

#[test]
fn a_spectrum_is_its_sum_whatever_the_length() {
    for count in [1_u8, 5, 8, 11] {
        let length = usize::from(count);
        let numbers = noise(2 * 8);
        let x = f32s(&[1, 8, 2], &numbers);
        let n = int64(&[], &[count.into()]);
        let dft = node("DFT", &["x", "n"], &["y"], &[]);
        let expected = spectrum(&pairs(&numbers), length, length);
        check_near(&dft, &[("x", &x), ("n", &n)], &[1, count.into(), 2], &expected);
        let real: Vec<[f32; 2]> = numbers.iter().map(|number| [*number, 0.]).collect();
        let x = f32s(&[16, 1], &numbers);
        let half = node("DFT", &["x", "n"], &["y"], &[("onesided", 1)]);
        let bins = length / 2 + 1;
        let expected = spectrum(&real, length, bins);
        check_near(&half, &[("x", &x), ("n", &n)], &[bins as u64, 2], &expected);
    }
}

#[test]
fn a_dimension_in_the_middle_is_transformed_in_place() {
    let numbers = noise(2 * 3 * 4);
    let (x, axis) = (f32s(&[2, 3, 4, 1], &numbers), int64(&[], &[-3]));
    let dft = node("DFT", &["x", "", "a"], &["y"], &[]);
    let mut expected = vec![0.; 2 * numbers.len()];
    for outer in 0..2 {
        for inner in 0..4 {
            let at = |row: usize| (outer * 3 + row) * 4 + inner;
            let row: Vec<[f32; 2]> = (0..3).map(|row| [numbers[at(row)], 0.]).collect();
            for (bin, pair) in pairs(&spectrum(&row, 3, 3)).iter().enumerate() {
                expected[2 * at(bin)..2 * at(bin) + 2].copy_from_slice(pair);
            }
        }
    }
    check_near(&dft, &[("x", &x), ("a", &axis)], &[2, 3, 4, 2], &expected);
}

#[test]
fn inverse_transforms_give_signals_back() {
    let numbers = noise(7);
    let real: Vec<[f32; 2]> = numbers.iter().map(|number| [*number, 0.]).collect();
    let spectra = f32s(&[1, 7, 2], &spectrum(&real, 7, 7));
    let inverse = node("DFT", &["x"], &["y"], &[("inverse", 1)]);
    let expected: Vec<f32> = real.iter().flatten().copied().collect();
    check_near(&inverse, &[("x", &spectra)], &[1, 7, 2], &expected);
    let half = f32s(&[1, 4, 2], &spectrum(&real, 7, 4));
    let inverse = node("DFT", &["x", "n"], &["y"], &[("inverse", 1), ("onesided", 1)]);
    check_near(&inverse, &[("x", &half), ("n", &int64(&[], &[7]))], &[1, 7, 1], &numbers);
    let even = node("DFT", &["x"], &["y"], &[("inverse", 1), ("onesided", 1)]);
    let half = f32s(&[1, 4, 2], &spectrum(&real, 6, 4));
    check_near(&even, &[("x", &half)], &[1, 6, 1], &numbers[..6]);
}

#[test]
fn frames_overlap_and_are_multiplied_by_a_window() {
    let (numbers, window) = (noise(10), [0.5, 1., 2., -1.]);
    let x = f32s(&[1, 10, 1], &numbers);
    let (step, w) = (int64(&[], &[3]), f32s(&[4], &window));
    let stft = node("STFT", &["x", "s", "w"], &["y"], &[]);
    let frame = |at: usize| {
        let frame = numbers[at..at + 4].iter().zip(&window);
        spectrum(&frame.map(|(a, b)| [a * b, 0.]).collect::<Vec<_>>(), 4, 3)
    };
    let expected: Vec<f32> = [0, 3, 6].into_iter().flat_map(frame).collect();
    check_near(&stft, &[("x", &x), ("s", &step), ("w", &w)], &[1, 3, 3, 2], &expected);
}

#[test]
fn long_transforms_are_made_in_two_steps() {
    let numbers = noise(2 * 1000);
    let (x, n) = (f32s(&[1, 1000, 2], &numbers), int64(&[], &[1024]));
    let dft = node("DFT", &["x", "n"], &["y"], &[]);
    let expected = spectrum(&pairs(&numbers), 1024, 1024);
    check_near(&dft, &[("x", &x), ("n", &n)], &[1, 1024, 2], &expected);
    let real: Vec<[f32; 2]> = numbers.iter().map(|number| [*number, 0.]).collect();
    let half = f32s(&[1, 1001, 2], &spectrum(&real, 2000, 1001));
    let inverse = node("DFT", &["x"], &["y"], &[("inverse", 1), ("onesided", 1)]);
    check_near(&inverse, &[("x", &half)], &[1, 2000, 1], &numbers);
    let window: Vec<f32> = noise(1024).iter().map(|it| it / 4.).collect();
    let (x, w, step) = (f32s(&[1, 2000, 1], &numbers), f32s(&[1024], &window), int64(&[], &[900]));
    let stft = node("STFT", &["x", "s", "w"], &["y"], &[]);
    let frame = |at: usize| {
        let frame = numbers[at..at + 1024].iter().zip(&window);
        spectrum(&frame.map(|(a, b)| [a * b, 0.]).collect::<Vec<_>>(), 1024, 513)
    };
    let expected: Vec<f32> = [0, 900].into_iter().flat_map(frame).collect();
    check_near(&stft, &[("x", &x), ("s", &step), ("w", &w)], &[1, 2, 513, 2], &expected);
}

#[test]
fn signals_and_lengths_that_do_not_fit_are_refused() {
    let x = f32s(&[1, 4, 2], &noise(8));
    let half = node("DFT", &["x"], &["y"], &[("onesided", 1)]);
    let error = refusal(&half, &[("x", &x)]);
    assert!(error.contains("input: [1, 4, 2] is the wrong shape"), "{error}");
    let dft = node("DFT", &["x", "n"], &["y"], &[]);
    for (length, problem) in [
        (0, "dft_length: 0 is not a length"),
        (-1, "dft_length: -1 is not a size"),
        (i64::MAX, "computes more on the host than 4194304 elements"),
        (200_003, "is too large to be computed on the host"),
    ] {
        let error = refusal(&dft, &[("x", &x), ("n", &int64(&[], &[length]))]);
        assert!(error.contains(problem), "{error}");
    }
    let last = node("DFT", &["x", "", "a"], &["y"], &[]);
    let error = refusal(&last, &[("x", &x), ("a", &int64(&[], &[-1]))]);
    assert!(error.contains("axis: 2 is that of complex numbers"), "{error}");
    let x = f32s(&[1, 4, 1], &noise(4));
    let stft = node("STFT", &["x", "s", "", "l"], &["y"], &[]);
    for (step, length, problem) in [
        (1, 5, "frame_length: 5 is too long; accepted: up to 4"),
        (0, 2, "frame_step: 0 is not a length"),
    ] {
        let (step, length) = (int64(&[], &[step]), int64(&[], &[length]));
        let error = refusal(&stft, &[("x", &x), ("s", &step), ("l", &length)]);
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn windows_are_sums_of_cosines() {
    let window = |name, periodic| node(name, &["n"], &["y"], &[("periodic", periodic)]);
    let n = int64(&[], &[4]);
    check_near(&window("HannWindow", 1), &[("n", &n)], &[4], &[0., 0.5, 1., 0.5]);
    check_near(&window("HannWindow", 0), &[("n", &n)], &[4], &[0., 0.75, 0.75, 0.]);
    let hamming = [4. / 46., 25. / 46., 1., 25. / 46.];
    check_near(&window("HammingWindow", 1), &[("n", &n)], &[4], &hamming);
    check_near(&window("BlackmanWindow", 1), &[("n", &n)], &[4], &[0., 0.34, 1., 0.34]);
    check(&window("HannWindow", 1), &[("n", &int64(&[], &[0]))], &f32s(&[0], &[]));
    let error = refusal(&window("HannWindow", 1), &[("n", &int64(&[], &[i64::MAX]))]);
    assert!(error.contains("computes more on the host than 4194304 elements"), "{error}");
}

#[test]
fn bands_beyond_the_spectrum_are_refused() {
    let mel = node("MelWeightMatrix", &["bands", "n", "rate", "low", "high"], &["y"], &[]);
    let weights = |bands, length, high: f32| {
        let (bands, length, rate) =
            (int64(&[], &[bands]), int64(&[], &[length]), int64(&[], &[8192]));
        let (low, high) = (f32s(&[], &[0.]), f32s(&[], &[high]));
        let all =
            [("bands", &bands), ("n", &length), ("rate", &rate), ("low", &low), ("high", &high)];
        refusal(&mel, &all)
    };
    let error = weights(3, 16, 9000.);
    assert!(
        error.contains("lead to no bin of the spectrum; accepted: bins from 0 to 8"),
        "{error}"
    );
    let error = weights(i64::MAX, 16, 4096.);
    assert!(error.contains("computes more on the host than 4194304 elements"), "{error}");
    let error = weights(i64::MAX, -1, 4096.);
    assert!(error.contains("dft_length: -1 is not a size"), "{error}");
}
