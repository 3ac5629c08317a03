# SPDX-License-Identifier: Apache-2.0
# needs: rustc cargo
# limit: 120
cargo --version
cat >t.rs <<'EOF'
use std::sync::{mpsc, Arc, Mutex};
use std::{process::Command, thread};
fn main() {
    let sum = Arc::new(Mutex::new(0u64));
    let handles: Vec<_> = (0..4).map(|n| { let sum = sum.clone(); thread::spawn(move || for i in 0..1000 { *sum.lock().unwrap() += n * i; }) }).collect();
    for h in handles { h.join().unwrap(); }
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || for i in 0..10 { tx.send(i).unwrap(); });
    println!("{} {}", sum.lock().unwrap(), rx.iter().sum::<i32>());
    let out = Command::new("echo").arg("child").output().unwrap();
    print!("{}", String::from_utf8_lossy(&out.stdout));
    let r = thread::spawn(|| { std::panic::set_hook(Box::new(|_| {})); panic!("x") }).join();
    println!("{}", r.is_err());
    std::process::exit(7);
}
EOF
rustc -C debuginfo=0 -o t t.rs && ./t; echo $?; rm -f t
