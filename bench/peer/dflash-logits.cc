// The logits of a DFlash drafter, as JSON: a list for each mask of a block behind the given ids.
//   dflash-logits <model.gguf> <drafter.gguf> <masks> <id> <id> ...
// Built by bench/dflash-goldens.ts with the headers and libraries of a checkout of llama.cpp.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "llama-ext.h"
#include "llama.h"

namespace {

constexpr int ROWS = 256;

/** Ends the program with the place of what failed as its status. */
void require(bool holds, int place) {
  if (!holds) exit(place);
}

llama_context *open_context(llama_model *model, llama_context *other) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = ROWS;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.swa_full = true;
  params.ctx_other = other;
  llama_context *context = llama_init_from_model(model, params);
  require(context != nullptr, 2);
  return context;
}

void add(llama_batch &batch, llama_token id, int position, bool has_logits) {
  const int row = batch.n_tokens++;
  if (batch.token) batch.token[row] = id;
  batch.pos[row] = position;
  batch.n_seq_id[row] = 1;
  batch.seq_id[row][0] = 0;
  batch.logits[row] = has_logits;
}

/** Gives the drafter what its layers read at the positions of the ids, all but the last one's. */
void inject(llama_context *model, llama_context *drafter, const std::vector<llama_token> &ids) {
  const int32_t *layers = llama_model_target_layer_ids(llama_get_model(drafter));
  const int count = static_cast<int>(llama_model_target_layer_ids_n(llama_get_model(drafter)));
  const int width = llama_model_n_embd(llama_get_model(model));
  const int positions = static_cast<int>(ids.size()) - 1;
  for (int i = 0; i < count; i++) llama_set_embeddings_layer_inp(model, layers[i], true);
  llama_batch tokens = llama_batch_init(ROWS, 0, 1);
  for (int at = 0; at < positions; at++) add(tokens, ids[at], at, true);
  require(llama_decode(model, tokens) == 0, 3);
  llama_batch features = llama_batch_init(ROWS, count * width, 1);
  for (int at = 0; at < positions; at++) add(features, 0, at, false);
  for (int i = 0; i < count; i++) {
    const float *read = llama_get_embeddings_layer_inp(model, layers[i]);
    require(read != nullptr, 4);
    for (int at = 0; at < positions; at++) {
      memcpy(features.embd + (at * count + i) * width, read + at * width, width * sizeof(float));
    }
  }
  require(llama_decode(drafter, features) == 0, 5);
}

}  // namespace

int main(int argc, char **argv) {
  require(argc > 5, 1);
  llama_model *models[2];
  for (int i = 0; i < 2; i++) {
    models[i] = llama_model_load_from_file(argv[1 + i], llama_model_default_params());
    require(models[i] != nullptr, 1);
  }
  const int masks = atoi(argv[3]);
  std::vector<llama_token> ids;
  for (int i = 4; i < argc; i++) ids.push_back(atoi(argv[i]));
  llama_context *model = open_context(models[0], nullptr);
  llama_context *drafter = open_context(models[1], model);
  char causal[8] = "";
  llama_model_meta_val_str(models[1], "dflash.attention.causal", causal, sizeof causal);
  llama_set_embeddings_nextn(drafter, true, true);
  llama_set_causal_attn(drafter, strcmp(causal, "true") == 0);
  inject(model, drafter, ids);
  const llama_vocab *vocabulary = llama_model_get_vocab(models[1]);
  llama_batch block = llama_batch_init(ROWS, 0, 1);
  const int last = static_cast<int>(ids.size()) - 1;
  for (int i = 0; i <= masks; i++) add(block, i == 0 ? ids[last] : llama_vocab_mask(vocabulary), last + i, true);
  require(llama_decode(drafter, block) == 0, 6);
  for (int i = 1; i <= masks; i++) {
    const float *logits = llama_get_logits_ith(drafter, i);
    for (int id = 0; id < llama_vocab_n_tokens(vocabulary); id++) {
      const char *before = id > 0 ? "," : i > 1 ? ",[" : "[[";
      if (logits[id] < -1e30f) printf("%snull", before);
      else printf("%s%.6g", before, logits[id]);
    }
    printf("]");
  }
  printf("]\n");
}
