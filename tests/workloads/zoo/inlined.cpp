// inlined - inlined SECONDS: C++ with functions that exist only inside others, a virtual call, a
// template and an exception that crosses three frames for every round.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "tests/workloads/zoo/animal.h"

namespace zoo {

[[gnu::always_inline]] inline std::uint64_t mix(std::uint64_t x)
{
    return x * 6364136223846793005u + 144269u;
}

[[gnu::always_inline]] inline std::uint64_t mix_often(std::uint64_t x)
{
    for (int i = 0; i < SPIN_STEPS; i++)
        x = mix(x);
    return x;
}

struct Worker {
    virtual ~Worker() = default;
    virtual void work(int depth) = 0;
};

template <typename Number> struct Spinner final : Worker {
    NOINLINE void work(int depth) override
    {
        animal_sink = mix_often(animal_sink);
        if (depth > 0)
            throw std::runtime_error("as planned");
        animal_sink = animal_sink + 1;
    }
};

NOINLINE void guarded(Worker &worker, int depth)
{
    std::vector<int> owned(3, depth); // to be destroyed on the way out
    worker.work(depth);
    animal_sink = animal_sink + static_cast<std::uint64_t>(owned[0]);
}

NOINLINE void attempt(Worker &worker)
{
    try {
        guarded(worker, 1);
    } catch (const std::exception &e) {
        guarded(worker, e.what() == nullptr);
    }
    animal_sink = animal_sink + 1;
}

} // namespace zoo

static NOINLINE void stack()
{
    static zoo::Spinner<std::uint64_t> spinner;
    zoo::attempt(spinner);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: inlined SECONDS\n");
        return 2;
    }
    return animal_live(argv[1], stack);
}
