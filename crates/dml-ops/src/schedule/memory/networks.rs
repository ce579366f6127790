//! Tests that intermediate results of well-known networks fit in the bytes that are alive at one time.

use super::*;

/// A network under construction: each operator is a step.
#[derive(Default)]
struct Network(Vec<Buffer>);

impl Network {
    /// Adds an operator that reads results of others and writes `elements` FLOAT32 elements; returns its number.
    fn operator(&mut self, inputs: &[usize], elements: u64) -> usize {
        let step = self.0.len();
        for input in inputs {
            self.0[*input].lives.end = step + 1;
        }
        self.0.push(Buffer { size: 4 * elements, lives: step..step + 1 });
        step
    }
}

/// Batch 1, 224 by 224; activations and residual sums are fused.
fn resnet_50() -> Network {
    let mut net = Network::default();
    let convolution = net.operator(&[], 64 * 112 * 112);
    let mut last = net.operator(&[convolution], 64 * 56 * 56);
    for (blocks, channels, size) in [(3, 64, 56_u64), (4, 128, 28), (6, 256, 14), (3, 512, 7)] {
        for block in 0..blocks {
            let all = 4 * channels * size * size;
            let before = if block == 0 && size < 56 { 2 * size } else { size };
            let narrow = net.operator(&[last], channels * before * before);
            let middle = net.operator(&[narrow], channels * size * size);
            let shortcut = if block == 0 { net.operator(&[last], all) } else { last };
            last = net.operator(&[middle, shortcut], all);
        }
    }
    let pooled = net.operator(&[last], 2048);
    net.operator(&[pooled], 1000);
    net
}

/// Batch 1, 224 by 224.
fn mobilenet_v2() -> Network {
    let mut net = Network::default();
    let mut last = net.operator(&[], 32 * 112 * 112);
    let (mut channels, mut size) = (32, 112_u64);
    let rows = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ];
    for (expansion, out, repeats, stride) in rows {
        for repeat in 0..repeats {
            let wide = channels * expansion;
            let expanded = match expansion {
                1 => last,
                _ => net.operator(&[last], wide * size * size),
            };
            size /= if repeat == 0 { stride } else { 1 };
            let depthwise = net.operator(&[expanded], wide * size * size);
            let inputs = if repeat > 0 { vec![depthwise, last] } else { vec![depthwise] };
            last = net.operator(&inputs, out * size * size);
            channels = out;
        }
    }
    let wide = net.operator(&[last], 1280 * size * size);
    let pooled = net.operator(&[wide], 1280);
    net.operator(&[pooled], 1000);
    net
}

/// 12 layers of 768 features, a sequence of 384.
fn bert_base() -> Network {
    let (sequence, features) = (384, 768);
    let mut net = Network::default();
    let mut last = net.operator(&[], sequence * features);
    for _ in 0..12 {
        let [query, key, value] = [(); 3].map(|()| net.operator(&[last], sequence * features));
        let scores = net.operator(&[query, key], 12 * sequence * sequence);
        let softmax = net.operator(&[scores], 12 * sequence * sequence);
        let context = net.operator(&[softmax, value], sequence * features);
        let sum = net.operator(&[context, last], sequence * features);
        let normal = net.operator(&[sum], sequence * features);
        let wide = net.operator(&[normal], sequence * 4 * features);
        let narrow = net.operator(&[wide, normal], sequence * features);
        last = net.operator(&[narrow], sequence * features);
    }
    net
}

/// 512 by 512, four levels down and up; each level up is joined with the level down of the same size.
fn u_net() -> Network {
    let mut net = Network::default();
    let (mut skipped, mut last) = (vec![], None);
    let area = |level: u32| u64::from(512_u32 >> level).pow(2);
    for level in 0..5 {
        let channels = 64 << level;
        let inputs: Vec<usize> = last.into_iter().collect();
        let one = net.operator(&inputs, channels * area(level));
        let two = net.operator(&[one], channels * area(level));
        skipped.push(two);
        last = Some(if level < 4 { net.operator(&[two], channels * area(level + 1)) } else { two });
    }
    let mut last = skipped.pop().unwrap_or_default();
    for level in (0..4).rev() {
        let channels = 64 << level;
        let up = net.operator(&[last], channels * area(level));
        let inputs: Vec<usize> = [up].into_iter().chain(skipped.pop()).collect();
        let joined = net.operator(&inputs, 2 * channels * area(level));
        let one = net.operator(&[joined], channels * area(level));
        last = net.operator(&[one], channels * area(level));
    }
    net.operator(&[last], 2 * area(0));
    net
}

#[test]
fn networks_take_what_lives_at_one_time() {
    for (name, Network(buffers)) in [
        ("ResNet-50", resnet_50()),
        ("MobileNetV2", mobilenet_v2()),
        ("BERT-base", bert_base()),
        ("U-Net", u_net()),
    ] {
        let all: u64 = buffers.iter().map(|buffer| buffer.size).sum();
        let planned = place(&buffers, 256, u64::MAX).size;
        assert_eq!(planned, lower_bound(&buffers, 256), "{name}");
        assert!(planned * 3 < all, "{name}: {planned} of {all}");
    }
}
