// llama.cpp's tokens per second, as `rocmforge bench --json` has its own: prompts, one sequence, several at once after prompts.
//   speed <folder of backends> <model.gguf> -p <prompt> -n <generated> [--parallel <sequences>] [--depth <positions>] [-r <rounds>]
// Build it with the headers of a checkout of llama.cpp and its libraries: c++ -O2 -I include -I ggml/include speed.cc -l llama -l ggml
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ggml-backend.h"
#include "llama.h"

namespace {

/** What `bench` reads before it measures several sequences. */
constexpr int PROMPT_OF_EACH = 128;
/** Rows of a physical batch with which llama.cpp reads prompts fastest. */
constexpr int PHYSICAL_BATCH = 2048;

int vocabulary;

/** Ends the program with the place of what failed as its status. */
void require(bool holds, int place) {
  if (!holds) exit(place);
}

llama_context *open_context(llama_model *model, int positions, int sequences) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(sequences * ((positions + 255) / 256 * 256));
  params.n_batch = params.n_ubatch = PHYSICAL_BATCH;
  params.n_seq_max = static_cast<uint32_t>(sequences);
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  llama_context *context = llama_init_from_model(model, params);
  require(context != nullptr, 3);
  return context;
}

void add(llama_batch &batch, int position, int sequence, bool has_logits) {
  const int row = batch.n_tokens++;
  batch.token[row] = 100 + rand() % (vocabulary - 100);
  batch.pos[row] = position;
  batch.n_seq_id[row] = 1;
  batch.seq_id[row][0] = sequence;
  batch.logits[row] = has_logits;
}

/** Reads a prompt of each of the sequences from a position on. */
void read(llama_context *context, int sequences, int from, int count) {
  llama_batch batch = llama_batch_init(PHYSICAL_BATCH, 0, 1);
  for (int sequence = 0; sequence < sequences; sequence++) {
    for (int at = 0; at < count; at++) {
      add(batch, from + at, sequence, at == count - 1);
      if (batch.n_tokens < PHYSICAL_BATCH && at < count - 1) continue;
      require(llama_decode(context, batch) == 0, 4);
      batch.n_tokens = 0;
    }
  }
  llama_synchronize(context);
  llama_batch_free(batch);
}

void generate(llama_context *context, int sequences, int from, int count) {
  llama_batch batch = llama_batch_init(sequences, 0, 1);
  for (int at = 0; at < count; at++) {
    batch.n_tokens = 0;
    for (int sequence = 0; sequence < sequences; sequence++) add(batch, from + at, sequence, true);
    require(llama_decode(context, batch) == 0, 5);
    llama_synchronize(context);
  }
  llama_batch_free(batch);
}

/** The median of tokens per second; `prepare` is not measured, and the first time does not count. */
template <class Prepare, class Run>
double median(llama_context *context, int rounds, int tokens, Prepare prepare, Run run) {
  std::vector<double> speeds;
  for (int round = 0; round <= rounds; round++) {
    llama_memory_clear(llama_get_memory(context), true);
    prepare();
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (round > 0) speeds.push_back(tokens / seconds.count());
  }
  std::sort(speeds.begin(), speeds.end());
  return (speeds[(speeds.size() - 1) / 2] + speeds[speeds.size() / 2]) / 2;
}

}  // namespace

int main(int count, char **arguments) {
  require(count >= 3, 1);
  int prompt = 0, generated = 0, parallel = 0, depth = 0, rounds = 2;
  for (int i = 3; i + 1 < count; i += 2) {
    const int value = atoi(arguments[i + 1]);
    if (!strcmp(arguments[i], "-p")) prompt = value;
    if (!strcmp(arguments[i], "-n")) generated = value;
    if (!strcmp(arguments[i], "--parallel")) parallel = value;
    if (!strcmp(arguments[i], "--depth")) depth = value;
    if (!strcmp(arguments[i], "-r")) rounds = value;
  }
  llama_log_set([](ggml_log_level level, const char *text, void *) { if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr); }, nullptr);
  ggml_backend_load_all_from_path(arguments[1]);
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 999;
  llama_model *model = llama_model_load_from_file(arguments[2], params);
  require(model != nullptr, 2);
  vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  const char *before = "";
  printf("{\"results\":[");
  const auto print = [&](double speed, const char *format, auto... of) {
    printf("%s{\"test\":\"", before);
    printf(format, of...);
    printf("\",\"median\":%.4g}", speed);
    fflush(stdout);
    before = ",";
  };
  {
    llama_context *context = open_context(model, std::max(prompt, generated), 1);
    if (prompt) print(median(context, rounds, prompt, [] {}, [&] { read(context, 1, 0, prompt); }), "pp%d", prompt);
    if (generated) print(median(context, rounds, generated, [] {}, [&] { generate(context, 1, 0, generated); }), "tg%d", generated);
    llama_free(context);
  }
  if (depth && generated) {
    llama_context *context = open_context(model, depth + generated, 1);
    const auto prepare = [&] { read(context, 1, 0, depth); };
    const double speed = median(context, rounds, generated, prepare, [&] { generate(context, 1, depth, generated); });
    print(speed, "tg%d @ d%d", generated, depth);
    llama_free(context);
  }
  if (parallel) {
    llama_context *context = open_context(model, PROMPT_OF_EACH + generated, parallel);
    const auto prepare = [&] { read(context, parallel, 0, PROMPT_OF_EACH); };
    const auto run = [&] { generate(context, parallel, PROMPT_OF_EACH, generated); };
    print(median(context, rounds, parallel * generated, prepare, run), "%d x tg%d", parallel, generated);
    llama_free(context);
  }
  printf("]}\n");
  llama_model_free(model);
}
