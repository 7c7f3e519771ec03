//! crab - crab SECONDS: Rust with a trait object, a generic function and a closure in the stack.
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

trait Walker {
    fn walk(&self, seed: u64) -> u64;
}

struct Sideways;

impl Walker for Sideways {
    #[inline(never)]
    fn walk(&self, seed: u64) -> u64 {
        twice(|x| leaf(x), seed)
    }
}

#[inline(never)]
fn leaf(seed: u64) -> u64 {
    let mut x = seed;
    for _ in 0..200_000 {
        x = black_box(x.wrapping_mul(6364136223846793005).wrapping_add(144269));
    }
    x
}

#[inline(never)]
fn twice<F: Fn(u64) -> u64>(f: F, seed: u64) -> u64 {
    black_box(f(black_box(f(seed))))
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).expect("SECONDS");
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let walker: Box<dyn Walker> = black_box(Box::new(Sideways));
    let mut x = 1;
    println!("ready");
    std::io::stdout().flush().unwrap();
    while Instant::now() < end {
        x = walker.walk(x);
    }
    black_box(x);
}
