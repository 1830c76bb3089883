;; y = x Wᵀ + b in float32, four products at once: what `linear` of vit.js computes, for the ViT that learns.
;;     python -m tools.kernel        writes linear.wasm of it into learn-kernel.js
;; Rows of x (T, I) and W (O, I) lie one after the other; I is a multiple of four, whose last numbers may be zeros.
(module
  (memory (export "memory") 32)
  (func $sum (param $v v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $v)) (f32x4.extract_lane 1 (local.get $v)))
      (f32.add (f32x4.extract_lane 2 (local.get $v)) (f32x4.extract_lane 3 (local.get $v)))))
  ;; addresses in bytes; O is a multiple of four, too, so that four outputs share what is read of x
  (func (export "linear") (param $x i32) (param $T i32) (param $w i32) (param $b i32) (param $I i32) (param $O i32)
      (param $y i32)
    (local $t i32) (local $o i32) (local $i i32) (local $row i32) (local $p i32) (local $q i32) (local $v v128)
    (local $s0 v128) (local $s1 v128) (local $s2 v128) (local $s3 v128)
    (local.set $row (i32.shl (local.get $I) (i32.const 2)))
    (loop $tokens
      (local.set $o (i32.const 0))
      (loop $outputs
        (local.set $q (i32.add (local.get $w) (i32.mul (local.get $o) (local.get $row))))
        (local.set $s0 (v128.const f32x4 0 0 0 0))
        (local.set $s1 (local.get $s0))
        (local.set $s2 (local.get $s0))
        (local.set $s3 (local.get $s0))
        (local.set $i (i32.const 0))
        (loop $inputs
          (local.set $v (v128.load (i32.add (local.get $x) (local.get $i))))
          (local.set $p (i32.add (local.get $q) (local.get $i)))
          (local.set $s0 (f32x4.add (local.get $s0) (f32x4.mul (local.get $v) (v128.load (local.get $p)))))
          (local.set $p (i32.add (local.get $p) (local.get $row)))
          (local.set $s1 (f32x4.add (local.get $s1) (f32x4.mul (local.get $v) (v128.load (local.get $p)))))
          (local.set $p (i32.add (local.get $p) (local.get $row)))
          (local.set $s2 (f32x4.add (local.get $s2) (f32x4.mul (local.get $v) (v128.load (local.get $p)))))
          (local.set $p (i32.add (local.get $p) (local.get $row)))
          (local.set $s3 (f32x4.add (local.get $s3) (f32x4.mul (local.get $v) (v128.load (local.get $p)))))
          (local.set $i (i32.add (local.get $i) (i32.const 16)))
          (br_if $inputs (i32.lt_u (local.get $i) (local.get $row))))
        (local.set $p (i32.shl (local.get $o) (i32.const 2)))
        (local.set $q (i32.add (local.get $b) (local.get $p)))
        (local.set $p (i32.add (local.get $y) (local.get $p)))
        (f32.store (local.get $p) (f32.add (call $sum (local.get $s0)) (f32.load (local.get $q))))
        (f32.store offset=4 (local.get $p) (f32.add (call $sum (local.get $s1)) (f32.load offset=4 (local.get $q))))
        (f32.store offset=8 (local.get $p) (f32.add (call $sum (local.get $s2)) (f32.load offset=8 (local.get $q))))
        (f32.store offset=12 (local.get $p) (f32.add (call $sum (local.get $s3)) (f32.load offset=12 (local.get $q))))
        (local.set $o (i32.add (local.get $o) (i32.const 4)))
        (br_if $outputs (i32.lt_u (local.get $o) (local.get $O))))
      (local.set $x (i32.add (local.get $x) (local.get $row)))
      (local.set $y (i32.add (local.get $y) (i32.shl (local.get $O) (i32.const 2))))
      (local.set $t (i32.add (local.get $t) (i32.const 1)))
      (br_if $tokens (i32.lt_u (local.get $t) (local.get $T))))))
