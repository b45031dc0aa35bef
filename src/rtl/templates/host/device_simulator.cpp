// The shell in simulation, with a bus of its own: a memory that answers late and not always, checks what the shell must
// keep to, and errors and resets on demand.
//
// where: KEY=VALUE,... of
//     seed=N     which cycles stall, by a generator that begins with N (1)
//     stall=P    of 100 cycles, those in which a side that could go on waits (0)
//     break=N    a reset of N's cycle of the first job, which is then told once more from its beginning
//     fail=read|write|place|record   the first burst of that kind is answered with an error; the records' address is
//                off by 16; the last record is none
#include "device.h"

#include "Vshell.h"
#include "verilated.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr uint64_t RECORDS_AT = 0x4000000000, ANSWERS_AT = 0x4800000000;

struct Burst {
    uint64_t address;
    unsigned beats, at = 0;
    uint64_t ready; // the cycle from which it is answered
    bool fails;
};

// What a channel offered and was not taken must be offered again.
struct Held {
    bool waits = false;
    std::string offered;
    const char *name;
    explicit Held(const char *channel) : name(channel) {
    }
    void look(bool valid, bool ready, const void *data, size_t bytes) {
        const std::string now(static_cast<const char *>(data), bytes);
        if (waits && (!valid || now != offered)) {
            fprintf(stderr, "bus: %s changed before it was taken\n", name);
            exit(3);
        }
        waits = valid && !ready;
        offered = now;
    }
};

} // namespace

struct tenfold_device {
    VerilatedContext context;
    std::unique_ptr<Vshell> shell;
    uint64_t state = 1, cycle = 0, job_cycle = 0, broken = 0;
    unsigned stall = 0;
    std::string fail;
    std::vector<uint8_t> records, answers;
    std::vector<bool> written;
    std::deque<Burst> reads, writes; // asked for, not yet answered
    std::deque<uint64_t> responses;  // cycles from which a write's response may come
    std::deque<bool> response_fails;
    Held read_address{"AR"}, write_address{"AW"}, write_data{"W"};
    bool read_offered = false, response_offered = false;

    uint64_t draw() {
        uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    bool goes() {
        return draw() % 100 >= stall;
    }
    uint64_t later() {
        return cycle + (stall ? draw() % (2 * stall) : 0);
    }

    [[noreturn]] void wrong(const char *what, uint64_t value) {
        fprintf(stderr, "bus: %s (%" PRIx64 ")\n", what, value);
        exit(3);
    }
    void check_burst(uint64_t address, unsigned beats, unsigned size, unsigned kind) {
        if (size != 4 || kind != 1) wrong("a burst of another kind than beats of 16 bytes in a row", address);
        if (address / 4096 != (address + 16 * beats - 1) / 4096) wrong("a burst crosses 4 KiB", address);
    }
    // A byte of the two buffers; nullptr: there is no memory.
    uint8_t *byte_of(uint64_t address, std::vector<uint8_t> &buffer, uint64_t base) {
        return address >= base && address - base < buffer.size() ? &buffer[address - base] : nullptr;
    }
    bool fails_now(const char *kind) {
        if (fail != kind) return false;
        fail.clear();
        return true;
    }

    // One cycle: what the bus offers is set before the edge, what was taken is seen with it.
    void clock() {
        Vshell &s = *shell;
        // What is offered stays offered until it is taken.
        if (!read_offered) read_offered = !reads.empty() && reads[0].ready <= cycle && goes();
        if (!response_offered) response_offered = !responses.empty() && responses[0] <= cycle && goes();
        s.m_axi_gmem_arready = goes();
        s.m_axi_gmem_awready = goes();
        s.m_axi_gmem_wready = !writes.empty() && goes();
        s.m_axi_gmem_rvalid = read_offered;
        s.m_axi_gmem_bvalid = response_offered;
        if (read_offered) {
            const Burst &burst = reads[0];
            for (int w = 0; w < 4; w++) s.m_axi_gmem_rdata[w] = 0;
            bool there = true;
            for (unsigned i = 0; i < 16; i++) {
                const uint8_t *byte = byte_of(burst.address + 16 * burst.at + i, records, RECORDS_AT);
                there = there && byte;
                if (byte) s.m_axi_gmem_rdata[i / 4] |= uint32_t{*byte} << i % 4 * 8;
            }
            if (!there) wrong("a read outside the records", burst.address);
            s.m_axi_gmem_rlast = burst.at + 1 == burst.beats;
            s.m_axi_gmem_rresp = burst.fails ? 2 : 0;
        }
        if (response_offered) s.m_axi_gmem_bresp = response_fails[0] ? 2 : 0;
        s.eval();
        if (s.ap_rst_n) look();
        s.ap_clk = 1;
        s.eval();
        s.ap_clk = 0;
        s.eval();
        cycle++;
        job_cycle++;
    }

    void look() {
        Vshell &s = *shell;
        const uint64_t asked[2] = {s.m_axi_gmem_araddr, s.m_axi_gmem_arlen};
        const uint64_t placed[2] = {s.m_axi_gmem_awaddr, s.m_axi_gmem_awlen};
        uint32_t beat[6] = {0, 0, 0, 0, s.m_axi_gmem_wstrb, s.m_axi_gmem_wlast};
        for (int w = 0; w < 4; w++) beat[w] = s.m_axi_gmem_wdata[w];
        read_address.look(s.m_axi_gmem_arvalid, s.m_axi_gmem_arready, asked, sizeof asked);
        write_address.look(s.m_axi_gmem_awvalid, s.m_axi_gmem_awready, placed, sizeof placed);
        write_data.look(s.m_axi_gmem_wvalid, s.m_axi_gmem_wready, beat, sizeof beat);
        if (s.m_axi_gmem_rvalid && s.m_axi_gmem_rready) {
            read_offered = false;
            if (++reads[0].at == reads[0].beats) reads.pop_front();
        }
        if (s.m_axi_gmem_bvalid && s.m_axi_gmem_bready) {
            response_offered = false;
            responses.pop_front();
            response_fails.pop_front();
        }
        if (s.m_axi_gmem_wvalid && s.m_axi_gmem_wready) take_beat(beat);
        if (s.m_axi_gmem_arvalid && s.m_axi_gmem_arready) {
            check_burst(s.m_axi_gmem_araddr, s.m_axi_gmem_arlen + 1u, s.m_axi_gmem_arsize,
                        s.m_axi_gmem_arburst);
            reads.push_back({s.m_axi_gmem_araddr, s.m_axi_gmem_arlen + 1u, 0, later(), fails_now("read")});
        }
        if (s.m_axi_gmem_awvalid && s.m_axi_gmem_awready) {
            check_burst(s.m_axi_gmem_awaddr, s.m_axi_gmem_awlen + 1u, s.m_axi_gmem_awsize,
                        s.m_axi_gmem_awburst);
            writes.push_back({s.m_axi_gmem_awaddr, s.m_axi_gmem_awlen + 1u, 0, 0, fails_now("write")});
        }
    }

    void take_beat(const uint32_t *beat) {
        Burst &burst = writes[0];
        for (unsigned i = 0; i < 16; i++) {
            if (!(beat[4] >> i & 1)) continue;
            const uint64_t address = burst.address + 16 * burst.at + i;
            uint8_t *byte = byte_of(address, answers, ANSWERS_AT);
            if (!byte) wrong("a write outside the answers", address);
            if (written[address - ANSWERS_AT]) wrong("a byte is written twice", address);
            written[address - ANSWERS_AT] = true;
            *byte = static_cast<uint8_t>(beat[i / 4] >> i % 4 * 8);
        }
        burst.at++;
        if ((burst.at == burst.beats) != (beat[5] != 0))
            wrong("WLAST is not with the last beat", burst.address);
        if (burst.at < burst.beats) return;
        responses.push_back(later());
        response_fails.push_back(burst.fails);
        writes.pop_front();
    }

    // ---- the slave ----
    void wait(unsigned cycles) {
        for (unsigned i = 0; i < cycles; i++) clock();
    }
    void set(uint32_t offset, uint32_t value) {
        Vshell &s = *shell;
        // Address and data come in any order.
        const bool address_first = draw() % 2;
        s.s_axi_control_awaddr = offset;
        s.s_axi_control_wdata = value;
        s.s_axi_control_wstrb = 15;
        (address_first ? s.s_axi_control_awvalid : s.s_axi_control_wvalid) = 1;
        wait(stall ? draw() % 4 : 0);
        s.s_axi_control_awvalid = s.s_axi_control_wvalid = 1;
        for (;;) {
            s.eval();
            const bool address = s.s_axi_control_awready, data = s.s_axi_control_wready;
            clock();
            if (address) s.s_axi_control_awvalid = 0;
            if (data) s.s_axi_control_wvalid = 0;
            if (!s.s_axi_control_awvalid && !s.s_axi_control_wvalid) break;
        }
        wait(stall ? draw() % 4 : 0);
        s.s_axi_control_bready = 1;
        while (!s.s_axi_control_bvalid) clock();
        clock();
        s.s_axi_control_bready = 0;
    }
    uint32_t get(uint32_t offset) {
        Vshell &s = *shell;
        s.s_axi_control_araddr = offset;
        s.s_axi_control_arvalid = 1;
        for (bool taken = false; !taken;) {
            s.eval();
            taken = s.s_axi_control_arready;
            clock();
        }
        s.s_axi_control_arvalid = 0;
        wait(stall ? draw() % 4 : 0);
        s.s_axi_control_rready = 1;
        while (!s.s_axi_control_rvalid) clock();
        const uint32_t value = s.s_axi_control_rdata;
        clock();
        s.s_axi_control_rready = 0;
        return value;
    }

    void reset() {
        Vshell &s = *shell;
        s.ap_rst_n = 0;
        reads.clear();
        writes.clear();
        responses.clear();
        response_fails.clear();
        read_offered = response_offered = false;
        read_address.waits = write_address.waits = write_data.waits = false;
        s.s_axi_control_awvalid = s.s_axi_control_wvalid = s.s_axi_control_bready = 0;
        s.s_axi_control_arvalid = s.s_axi_control_rready = 0;
        wait(16);
        s.ap_rst_n = 1;
        wait(2);
    }

    void tell(uint32_t count) {
        const uint64_t from = RECORDS_AT + (fails_now("place") ? 16 : 0);
        std::fill(written.begin(), written.end(), false);
        set(TENFOLD_RECORDS, static_cast<uint32_t>(from));
        set(TENFOLD_RECORDS + 4, static_cast<uint32_t>(from >> 32));
        set(TENFOLD_ANSWERS, static_cast<uint32_t>(ANSWERS_AT));
        set(TENFOLD_ANSWERS + 4, static_cast<uint32_t>(ANSWERS_AT >> 32));
        set(TENFOLD_NUMBER, count);
        if ((get(TENFOLD_CONTROL) & 15) != 4) wrong("the shell is not idle before a job", 0);
        job_cycle = 0;
        set(TENFOLD_CONTROL, 1);
    }
    // Until the shell says that it is done.
    void finish(uint32_t count) {
        for (uint32_t control = 0; !(control & 2);) {
            if (broken && job_cycle >= broken) {
                broken = 0;
                reset();
                tell(count);
            }
            wait(broken ? 1 : 64);
            if (broken == 0 || job_cycle % 64 == 0) control = get(TENFOLD_CONTROL);
        }
        if ((get(TENFOLD_CONTROL) & 15) != 4) wrong("done is still told once it was read", 0);
    }
};

static bool take_key(tenfold_device *device, const std::string &key, const std::string &value) {
    if (key == "seed")
        device->state = strtoull(value.c_str(), nullptr, 10);
    else if (key == "stall")
        device->stall = static_cast<unsigned>(atoi(value.c_str()));
    else if (key == "break")
        device->broken = strtoull(value.c_str(), nullptr, 10);
    else if (key == "fail")
        device->fail = value;
    else
        return false;
    return true;
}

tenfold_device *tenfold_device_open(const char *where) {
    auto device = std::make_unique<tenfold_device>();
    std::string rest = where;
    while (!rest.empty()) {
        const size_t comma = rest.find(','), equals = rest.find('=');
        if (equals == std::string::npos ||
            !take_key(device.get(), rest.substr(0, equals), rest.substr(equals + 1, comma - equals - 1))) {
            fprintf(stderr, "host: -d %s: %s is none of seed=, stall=, break=, fail=\n", where, rest.c_str());
            return nullptr;
        }
        rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    }
    device->context.randReset(2);
    device->context.randSeed(static_cast<int>(device->state % 1000000 + 1));
    device->shell = std::make_unique<Vshell>(&device->context);
    device->shell->ap_clk = 0;
    device->reset();
    return device.release();
}

int tenfold_device_run(tenfold_device *device, const tenfold_record *record, uint32_t records,
                       uint32_t *answer, uint32_t answers, tenfold_told *told) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(record);
    device->records.assign(bytes, bytes + size_t{records} * sizeof *record);
    if (device->fails_now("record")) device->records[device->records.size() - 4] = 9;
    device->answers.assign(size_t{answers} * 4, 0);
    device->written.assign(size_t{answers} * 4, false);
    device->tell(records);
    device->finish(records);
    told->error = device->get(TENFOLD_ERROR);
    told->runs = device->get(TENFOLD_RUNS);
    told->cycles = device->get(TENFOLD_CYCLES) | uint64_t{device->get(TENFOLD_CYCLES + 4)} << 32;
    if (told->error == 0)
        for (size_t i = 0; i < device->written.size(); i++)
            if (!device->written[i]) device->wrong("an answer was never written", i);
    if (answers) memcpy(answer, device->answers.data(), device->answers.size());
    return 0;
}

void tenfold_device_close(tenfold_device *device) {
    device->shell->final();
    delete device;
}
