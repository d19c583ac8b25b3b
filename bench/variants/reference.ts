import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

/** What a model is asked. */
export interface Question {
  readonly path: string;
  readonly ids: readonly number[];
  /** Whether the text's embedding is wanted, not the logits of each position. */
  readonly embeds: boolean;
  readonly flashAttention: boolean;
}

/** What llama.cpp computes: rows of logits or one of an embedding, of the ids that it read; or why it does not. */
export type Answer =
  { readonly ids: readonly number[]; readonly rows: number[][] } | { readonly refused: string };

/** One line per question; weights as they are, keys and values in f32, one thread. */
const HARNESS = `
#include "llama.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>
static std::string messages;
static void note(ggml_log_level level, const char *text, void *) {
  if (level >= GGML_LOG_LEVEL_WARN) messages = (messages + text).substr(0, 400);
}
static void refuse(const char *what) {
  for (char &c : messages) if (c == '"' || c == '\\\\' || c < 32 || c > 126) c = ' ';
  printf("{\\"refused\\":\\"%s: %s\\"}\\n", what, messages.c_str());
}
static void print_row(const float *values, int count, bool first) {
  fputs(first ? "[" : ",[", stdout);
  for (int i = 0; i < count; i++) {
    if (i > 0) putchar(',');
    if (std::isfinite(values[i])) printf("%.9g", values[i]);
    else fputs("null", stdout);
  }
  putchar(']');
}
static void answer(llama_model *model, llama_context *context, std::vector<llama_token> ids, bool embeds) {
  const llama_vocab *vocab = llama_model_get_vocab(model);
  const llama_token begin = llama_vocab_bos(vocab), end = llama_vocab_eos(vocab);
  if (embeds && llama_vocab_get_add_bos(vocab) && ids.front() != begin) ids.insert(ids.begin(), begin);
  if (embeds && llama_vocab_get_add_eos(vocab) && ids.back() != end) ids.push_back(end);
  const int count = ids.size();
  llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (int i = 0; i < count; i++) {
    batch.token[i] = ids[i];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  const int status = llama_decode(context, batch);
  llama_batch_free(batch);
  const float *vector = embeds ? llama_get_embeddings_seq(context, 0) : nullptr;
  if (status != 0 || (embeds && vector == nullptr)) return refuse("not computed");
  fputs("{\\"ids\\":[", stdout);
  for (int i = 0; i < count; i++) printf(i > 0 ? ",%d" : "%d", ids[i]);
  fputs("],\\"rows\\":[", stdout);
  if (embeds) print_row(vector, llama_model_n_embd_out(model), true);
  else for (int i = 0; i < count; i++) print_row(llama_get_logits_ith(context, i), llama_vocab_n_tokens(vocab), i == 0);
  puts("]}");
}
int main() {
  llama_log_set(note, nullptr);
  llama_backend_init();
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    int embeds, flash;
    std::string path, id;
    std::vector<llama_token> ids;
    words >> embeds >> flash >> path;
    while (words >> id) ids.push_back(std::stoi(id));
    messages.clear();
    llama_model *model = llama_model_load_from_file(path.c_str(), llama_model_default_params());
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = std::max<size_t>(64, ids.size() + 2);
    params.n_threads = params.n_threads_batch = 1;
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.embeddings = embeds;
    params.flash_attn_type = flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    llama_context *context = model ? llama_init_from_model(model, params) : nullptr;
    if (context) answer(model, context, ids, embeds);
    else refuse(model ? "no context" : "not loaded");
    if (context) llama_free(context);
    if (model) llama_model_free(model);
    fflush(stdout);
  }
}
`;

/** llama.cpp in a process of its own, which is started again when a file makes it abort. */
export class Reference {
  readonly #program: string;
  #child: { readonly process: ChildProcess; readonly lines: Interface } | undefined;

  /** Compiles it against llama.cpp's sources and a build of it, with static libraries or shared ones. */
  constructor(llama: string, build: string) {
    const folder = mkdtempSync(join(tmpdir(), 'variants-'));
    this.#program = join(folder, 'harness');
    writeFileSync(`${this.#program}.cpp`, HARNESS);
    execFileSync('g++', [
      ...['-O1', '-std=c++17', '-I', join(llama, 'include'), '-I', join(llama, 'ggml/include')],
      ...[`${this.#program}.cpp`, ...librariesOf(build)],
      ...['-lgomp', '-lpthread', '-ldl', '-o', this.#program],
    ]);
  }

  /** What it computes. A file that it does not survive is refused. */
  async ask({ path, ids, embeds, flashAttention }: Question): Promise<Answer> {
    if (this.#child?.process.exitCode !== null || this.#child.process.signalCode !== null) {
      this.#child = this.#start();
    }
    const { process, lines } = this.#child;
    process.stdin?.write(`${Number(embeds)} ${Number(flashAttention)} ${path} ${ids.join(' ')}\n`);
    return new Promise((resolve) => {
      const settle = (answer: Answer) => {
        process.off('exit', die);
        lines.off('line', read);
        resolve(answer);
      };
      const read = (line: string) => settle(JSON.parse(line) as Answer);
      const die = () => {
        this.#child = undefined;
        settle({ refused: 'it aborted' });
      };
      process.once('exit', die);
      lines.once('line', read);
    });
  }

  stop(): void {
    this.#child?.process.kill();
  }

  #start() {
    const child = spawn(this.#program, {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, GGML_NO_BACKTRACE: '1' },
    });
    // That it has ended is told by its exit.
    child.stdin.on('error', () => {});
    return { process: child, lines: createInterface({ input: child.stdout }) };
  }
}

/** The linker's arguments for a build's libraries, static or shared ones. */
export function librariesOf(build: string): string[] {
  if (!existsSync(join(build, 'src/libllama.a'))) {
    const bin = join(build, 'bin');
    return ['-L', bin, `-Wl,-rpath,${bin}`, '-lllama', '-lggml', '-lggml-cpu', '-lggml-base'];
  }
  const parts = ['ggml', 'ggml-cpu', 'ggml-base'].map((name) => `ggml/src/lib${name}.a`);
  return ['src/libllama.a', ...parts].map((part) => join(build, part));
}
