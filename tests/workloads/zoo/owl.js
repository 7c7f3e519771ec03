// owl - owl SECONDS: JavaScript, to be run with --perf-basic-prof.
'use strict';

function leaf(x) {
    for (let i = 0; i < 100000; i++)
        x = (x * 1664525 + 1013904223) % 4294967296;
    return x;
}

function middle(x) {
    return leaf(x) + 1;
}

function outer(x) {
    return middle(x) + 1;
}

const end = Date.now() + 1000 * Number(process.argv[2]);
let x = 1;
for (let i = 0; i < 300; i++) // compiled by then
    x = outer(x);
console.log('ready');
while (Date.now() < end)
    x = outer(x);
