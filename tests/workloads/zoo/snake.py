"""snake - snake SECONDS: Python functions, to be run with -X perf."""
import sys
import time


def leaf(x):
    for _ in range(5000):
        x = (x * 6364136223846793005 + 144269) & 0xFFFFFFFF
    return x


def middle(x):
    return leaf(x) + 1


def outer(x):
    return middle(x) + 1


def main():
    end = time.monotonic() + float(sys.argv[1])
    print("ready", flush=True)
    x = 1
    while time.monotonic() < end:
        x = outer(x)


main()
