// AMX's instructions in software, for processors without them: each traps, and is done here as Intel's manual describes it (volume 2,
// "LDTILECFG" and following). A library that is preloaded: LD_PRELOAD=libtiles.so.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ucontext.h>

namespace {

constexpr int ROWS = 16;
constexpr int ROW_BYTES = 64;
constexpr int REGISTERS = 8;

/** A thread's tile registers. */
struct Tiles {
  bool isConfigured;
  uint16_t rowBytes[REGISTERS];
  uint8_t rows[REGISTERS];
  uint8_t data[REGISTERS][ROWS][ROW_BYTES];
};

thread_local Tiles tiles;

/** Kernels with tiles begin with this one: how often it was done says that they ran. */
unsigned configurations;

/** A trapped instruction, decoded as far as its first bytes. */
struct Instruction {
  int opcode;
  /** What the prefix says: 0 none, 1 for 66, 2 for F3, 3 for F2. */
  int kind;
  int second;
  int mode, reg, low;
  bool indexExtended, baseExtended;
  /** Behind the byte that names the operands. */
  const uint8_t *rest;
};

[[noreturn]] void unknown(const char *what, const uint8_t *at) {
  fprintf(stderr, "tiles.cpp: %s: %02x %02x %02x %02x %02x %02x\n", what, at[0], at[1], at[2], at[3], at[4], at[5]);
  _exit(70);
}

void require(bool holds, const char *what, const uint8_t *at) {
  if (!holds) unknown(what, at);
}

bool decode(const uint8_t *at, Instruction &of) {
  // A prefix of three bytes, of the second table of opcodes (0F38), for 128 bits and W0.
  if (at[0] != 0xc4 || (at[1] & 31) != 2 || (at[2] & 0x84) != 0) return false;
  of.opcode = at[3];
  if (of.opcode != 0x49 && of.opcode != 0x4b && of.opcode != 0x5e) return false;
  of.indexExtended = (at[1] & 0x40) == 0;
  of.baseExtended = (at[1] & 0x20) == 0;
  of.kind = at[2] & 3;
  of.second = ~(at[2] >> 3) & 15;
  of.mode = at[4] >> 6;
  of.reg = (at[4] >> 3) & 7;
  of.low = at[4] & 7;
  of.rest = at + 5;
  return true;
}

/** A general register, as instructions number them. */
uint64_t general(const ucontext_t &context, int number) {
  static constexpr int ORDER[] = {
      REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
      REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return (uint64_t)context.uc_mcontext.gregs[ORDER[number]];
}

/** An operand in memory: where it is, and for those with an index what that adds, the step from row to row. */
struct Place {
  uint8_t *at;
  uint64_t step;
};

Place placeOf(const ucontext_t &context, Instruction &of) {
  uint64_t base = 0;
  uint64_t step = 0;
  bool isRelative = false;
  bool hasLong = false;
  if (of.low == 4) {
    const uint8_t sib = *of.rest++;
    const int index = (sib >> 3 & 7) | (of.indexExtended ? 8 : 0);
    if (index != 4) step = general(context, index) << (sib >> 6);
    hasLong = of.mode == 0 && (sib & 7) == 5;
    if (!hasLong) base = general(context, (sib & 7) | (of.baseExtended ? 8 : 0));
  } else {
    isRelative = hasLong = of.mode == 0 && of.low == 5;
    if (!hasLong) base = general(context, of.low | (of.baseExtended ? 8 : 0));
  }
  int64_t offset = 0;
  if (of.mode == 1) offset = (int8_t)*of.rest++;
  if (of.mode == 2 || hasLong) {
    int32_t word;
    memcpy(&word, of.rest, 4);
    of.rest += 4;
    offset = word;
  }
  if (isRelative) base = (uint64_t)of.rest;
  return {(uint8_t *)(base + offset), step};
}

void configure(const uint8_t *from, const uint8_t *at) {
  memset(&tiles, 0, sizeof tiles);
  require(from[0] == 1 && from[1] == 0, "a palette other than 1", at);
  for (int i = 0; i < REGISTERS; i++) {
    memcpy(&tiles.rowBytes[i], from + 16 + 2 * i, 2);
    tiles.rows[i] = from[48 + i];
    require(tiles.rowBytes[i] <= ROW_BYTES && tiles.rows[i] <= ROWS, "a tile that is too large", at);
    require((tiles.rowBytes[i] == 0) == (tiles.rows[i] == 0), "a tile with one size", at);
  }
  tiles.isConfigured = true;
  __atomic_add_fetch(&configurations, 1, __ATOMIC_RELAXED);
}

/** The product of two bytes, of which the kind says whether they have signs: both, the first, the second, neither. */
int32_t product(int kind, uint8_t a, uint8_t b) {
  const int32_t first = kind == 3 || kind == 2 ? (int8_t)a : a;
  const int32_t second = kind == 3 || kind == 1 ? (int8_t)b : b;
  return first * second;
}

void multiply(const Instruction &of, const uint8_t *at) {
  const int a = of.low;
  const int b = of.second;
  const int to = of.reg;
  require(a != b && a != to && b != to, "a tile that is named twice", at);
  require(tiles.rows[to] == tiles.rows[a] && tiles.rowBytes[to] == tiles.rowBytes[b], "sums of another shape", at);
  require(tiles.rowBytes[a] == 4 * tiles.rows[b] && tiles.rowBytes[a] % 4 == 0, "factors that do not fit", at);
  for (int m = 0; m < tiles.rows[to]; m++) {
    for (int n = 0; n < tiles.rowBytes[to] / 4; n++) {
      uint32_t sum;
      memcpy(&sum, &tiles.data[to][m][4 * n], 4);
      for (int k = 0; k < tiles.rowBytes[a] / 4; k++) {
        for (int i = 0; i < 4; i++) {
          sum += (uint32_t)product(of.kind, tiles.data[a][m][4 * k + i], tiles.data[b][k][4 * n + i]);
        }
      }
      memcpy(&tiles.data[to][m][4 * n], &sum, 4);
    }
  }
}

void move(const Place &place, const Instruction &of) {
  const int size = tiles.rowBytes[of.reg];
  if (of.kind != 2) memset(tiles.data[of.reg], 0, sizeof tiles.data[0]);
  for (int row = 0; row < tiles.rows[of.reg]; row++) {
    uint8_t *memory = place.at + row * place.step;
    if (of.kind == 2) memcpy(memory, tiles.data[of.reg][row], size);
    else memcpy(tiles.data[of.reg][row], memory, size);
  }
}

void execute(ucontext_t &context, Instruction &of, const uint8_t *at) {
  if (of.opcode == 0x49 && of.mode == 3 && of.kind == 0) {
    memset(&tiles, 0, sizeof tiles);
  } else if (of.opcode == 0x49 && of.mode != 3 && of.kind == 0) {
    configure(placeOf(context, of).at, at);
  } else {
    require(tiles.isConfigured, "tiles without shapes", at);
    if (of.opcode == 0x49 && of.mode == 3 && of.kind == 3) memset(tiles.data[of.reg], 0, sizeof tiles.data[0]);
    else if (of.opcode == 0x4b && of.mode != 3 && of.kind != 0) move(placeOf(context, of), of);
    else if (of.opcode == 0x5e && of.mode == 3) multiply(of, at);
    else unknown("an instruction that is not known", at);
  }
  context.uc_mcontext.gregs[REG_RIP] = (greg_t)of.rest;
}

void trapped(int, siginfo_t *, void *data) {
  ucontext_t &context = *(ucontext_t *)data;
  const uint8_t *at = (const uint8_t *)context.uc_mcontext.gregs[REG_RIP];
  Instruction of;
  if (!decode(at, of)) unknown("an illegal instruction", at);
  execute(context, of, at);
}

__attribute__((constructor)) void start() {
  struct sigaction action = {};
  action.sa_sigaction = trapped;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, nullptr);
}

}  // namespace

/** How often a thread gave tiles their shapes. */
extern "C" __attribute__((visibility("default"))) unsigned tile_configurations() { return configurations; }
