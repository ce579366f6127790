use super::*;

/// A sum of a row, on RDNA3: the jump that leaves the loop goes forward, the one that closes it back to BB2.
const SUM: &str = "\
BB1:
\ts_mov_b32 s1, 0                                             ; be810080
BB2:
\ts_mov_b64 s[12:13], exec                                    ; be8c017e
\tv_cmpx_ge_u32_e32 s1, v0                                    ; 7dbc0001
\ts_cbranch_scc0 BB11                                         ; bfa1003e
BB10:
\ts_clause 0x1                                                ; bf850001
\ts_buffer_load_b32 s5, s[8:11], 0xa0                         ; f4200144 f80000a0
\ts_waitcnt lgkmcnt(0)                                        ; bf89fc07
\tv_mul_lo_u32 v10, v1, s13                                   ; d72c000a 00001b01
\ts_delay_alu instid0(VALU_DEP_1)                             ; bf870001
\tbuffer_load_b128 v[12:15], v10, s[16:19], 0 offen           ; e05c0000 80440c0a
\tv_add_f32_e32 v19, v12, v6                                  ; 06260c80
\ts_add_u32 s1, s1, 4                                         ; 80018401
\ts_branch BB2                                                ; bfa0ffc1
BB11:
\tbuffer_store_b32 v0, v1, s[8:11], 0 offen                   ; e0680000
\ts_endpgm                                                    ; bfb00000
";

fn memory_of(pairs: &[(&str, u32)]) -> BTreeMap<String, u32> {
    pairs.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
}

#[test]
fn a_loop_is_counted_by_class() {
    let memory = memory_of(&[("load.b128", 1), ("scalar-load.b32", 1)]);
    let expected =
        Loop { instructions: 9, float: 1, other_vector: 1, quarter_rate: 1, scalar: 4, memory };
    assert_eq!(innermost_loops(SUM), [expected]);
}

#[test]
fn code_without_a_jump_back_has_no_loop() {
    let straight = "BB0:\n\ts_cbranch_execz BB1\n\tv_add_f32_e32 v0, v1, v2\nBB1:\n\ts_endpgm\n";
    assert_eq!(innermost_loops(straight), []);
    assert_eq!(innermost_loops(""), []);
}

#[test]
fn of_nested_loops_the_inner_ones_count() {
    let nested = "\
BB0:
\ts_mov_b32 s0, 0
BB1:
\tv_mov_b32_e32 v0, 0
BB2:
\tv_add_f32_e32 v0, v0, v1
\ts_cbranch_scc1 BB2
BB3:
\tv_mul_f32_e32 v0, v0, v1
\tv_mul_f32_e32 v0, v0, v1
\ts_cbranch_scc1 BB3
BB4:
\ts_cbranch_scc1 BB1
BB5:
\ts_endpgm
";
    let counts: Vec<_> =
        innermost_loops(nested).iter().map(|it| (it.instructions, it.float, it.scalar)).collect();
    assert_eq!(counts, [(2, 1, 1), (3, 2, 1)]);
}

#[test]
fn two_jumps_to_one_label_are_one_loop() {
    let text = "\
BB1:
\ts_cbranch_scc1 BB1
BB2:
\tv_add_f32_e32 v0, v0, v1
\ts_branch BB1
";
    let counts: Vec<_> = innermost_loops(text).iter().map(|it| it.instructions).collect();
    assert_eq!(counts, [3]);
}

#[test]
fn both_operations_of_a_dual_instruction_count() {
    let text = "BB1:\n\tv_dual_mul_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4\n\ts_branch BB1\n";
    let counted = &innermost_loops(text)[0];
    assert_eq!((counted.instructions, counted.float, counted.other_vector), (2, 1, 1));
}

#[test]
fn widths_have_one_name_whoever_wrote_the_assembly() {
    let kinds = [
        ("buffer_load_dwordx4", "load.b128"),
        ("buffer_load_b128", "load.b128"),
        ("global_load_d16_b16", "load.b16"),
        ("buffer_load_ubyte", "load.b8"),
        ("buffer_store_short", "store.b16"),
        ("ds_read_b128", "lds-load.b128"),
        ("ds_load_b64", "lds-load.b64"),
        ("ds_read2_b32", "lds-load.b32x2"),
        ("ds_load_2addr_b64", "lds-load.b64x2"),
        ("ds_store_2addr_stride64_b32", "lds-store.b32x2"),
        ("s_load_dwordx8", "scalar-load.b256"),
        ("s_buffer_load_b64", "scalar-load.b64"),
        ("scratch_store_b32", "scratch-store.b32"),
        ("buffer_atomic_or", "atomic"),
        ("ds_add_u32", "lds-atomic"),
    ];
    for (instruction, kind) in kinds {
        assert_eq!(class(instruction), Class::Memory(kind.to_owned()), "{instruction}");
    }
}

#[test]
fn operations_are_told_apart_by_their_rate() {
    let classes = [
        ("v_fma_f32", Class::Float),
        ("v_fmac_f32_e32", Class::Float),
        ("v_fma_mix_f32", Class::Float),
        ("v_mac_f32_e32", Class::Float),
        ("v_pk_fma_f16", Class::Float),
        ("v_dot4_i32_iu8", Class::Float),
        ("v_wmma_f32_16x16x16_f16", Class::Float),
        ("v_mul_hi_u32", Class::QuarterRate),
        ("v_mad_u64_u32", Class::QuarterRate),
        ("v_exp_f32_e32", Class::QuarterRate),
        ("v_add_f64", Class::QuarterRate),
        ("v_mad_u32_u24", Class::OtherVector),
        ("v_cvt_f32_f16_e32", Class::OtherVector),
        ("v_cndmask_b32_e64", Class::OtherVector),
        ("s_barrier", Class::Scalar),
        ("s_or_b64", Class::Scalar),
        ("s_and_b32", Class::Scalar),
        ("s_waitcnt_depctr", Class::Nothing),
    ];
    for (instruction, expected) in classes {
        assert_eq!(class(instruction), expected, "{instruction}");
    }
}

#[test]
fn products_of_24_bits_are_at_full_rate() {
    assert_eq!(class("v_mul_hi_u32"), Class::QuarterRate);
    assert_eq!(class("v_mul_hi_u32_u24_e32"), Class::OtherVector);
    assert_eq!(class("v_cos_f32_e32"), Class::QuarterRate);
}

#[test]
fn sections_are_a_kernel_and_its_loops_without_each_other() {
    let nested = "\
BB0:
\ts_mov_b32 s0, 0
BB1:
\tv_mov_b32_e32 v0, 0
BB2:
\tv_add_f32_e32 v0, v0, v1
\tv_fma_f32 v0, v0, v1, v2
\ts_cbranch_scc1 BB2
BB3:
\tv_dual_fmac_f32 v0, v0, v1 :: v_dual_mul_f32 v2, v3, v3
\ts_cbranch_scc1 BB1
BB5:
\tv_mul_f32_e32 v0, v0, v1
\ts_endpgm
";
    let sections: Vec<_> = sections(nested)
        .iter()
        .map(|it| (it.parent, it.own.instructions, it.own.float, it.fused))
        .collect();
    assert_eq!(sections, [(None, 2, 1, 0), (Some(0), 3, 2, 1), (Some(1), 3, 2, 1)]);
}
