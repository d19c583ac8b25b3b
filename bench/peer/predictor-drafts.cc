// The drafts of a model's own block for multi-token prediction, or of a Gemma 4 assistant, as JSON: behind each beginning of a text, a
// list of the best ones among some ids.
//   predictor-drafts <model.gguf> <assistant.gguf or -> <drafts> <shortest beginning> <id,id,...> <id> <id> ...
// Built by bench/predictor-goldens.ts with the headers and libraries of a checkout of llama.cpp.
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

llama_model *load(const char *path) {
  llama_model_params params = llama_model_default_params();
  params.load_mtp = true;
  llama_model *model = llama_model_load_from_file(path, params);
  require(model != nullptr, 1);
  return model;
}

llama_context *open_context(llama_model *model, llama_context *other, bool predicts) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = ROWS;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.ctx_other = other;
  params.ctx_type = predicts ? LLAMA_CONTEXT_TYPE_MTP : LLAMA_CONTEXT_TYPE_DEFAULT;
  llama_context *context = llama_init_from_model(model, params);
  require(context != nullptr, 2);
  return context;
}

void add(llama_batch &batch, llama_token id, int position) {
  const int row = batch.n_tokens++;
  batch.token[row] = id;
  batch.pos[row] = position;
  batch.n_seq_id[row] = 1;
  batch.seq_id[row][0] = 0;
  batch.logits[row] = 1;
}

/** A model, the context that predicts, and what the model has computed of a text. */
class Predicting {
 public:
  Predicting(llama_context *model, llama_context *predictor, bool shares)
      : model_(model), predictor_(predictor), shares_(shares) {
    width_ = llama_model_n_embd_out(llama_get_model(predictor));
    tokens_ = llama_batch_init(ROWS, 0, 1);
    pairs_ = llama_batch_init(ROWS, width_, 1);
    pairs_.token = static_cast<llama_token *>(malloc(ROWS * sizeof(llama_token)));
    llama_set_embeddings_nextn(model, true, false);
    llama_set_embeddings_nextn(predictor, true, true);
  }

  /** Computes the next ids, and the predictor's state at all positions whose next token is known. */
  void advance(const std::vector<llama_token> &ids, int end) {
    tokens_.n_tokens = 0;
    const int first = static_cast<int>(hidden_.size()) / width_;
    for (int at = first; at < end; at++) add(tokens_, ids[at], at);
    require(llama_decode(model_, tokens_) == 0, 3);
    const float *rows = llama_get_embeddings_nextn(model_);
    hidden_.insert(hidden_.end(), rows, rows + static_cast<size_t>(end - first) * width_);
    if (shares_) return;
    // The first position is a token without a result before it, which no pair has.
    pairs_.n_tokens = 0;
    for (int at = kept_; at < end; at++) pair(ids[at], hidden_.data() + static_cast<size_t>(at - 1) * width_, at);
    if (pairs_.n_tokens > 0) require(llama_decode(predictor_, pairs_) == 0, 4);
    kept_ = end;
  }

  /** The drafts behind the ids, of which all but the last are computed. */
  std::vector<llama_token> drafts(llama_token last, int count, const std::vector<llama_token> &allowed) {
    const int end = static_cast<int>(hidden_.size()) / width_;
    std::vector<float> read(hidden_.end() - width_, hidden_.end());
    std::vector<llama_token> found;
    for (int step = 0; step < count; step++) {
      pairs_.n_tokens = 0;
      pair(step == 0 ? last : found.back(), read.data(), shares_ ? end : end + step);
      require(llama_decode(predictor_, pairs_) == 0, 5);
      const float *logits = llama_get_logits_ith(predictor_, 0);
      llama_token best = allowed.front();
      for (llama_token id : allowed) {
        if (logits[id] > logits[best]) best = id;
      }
      found.push_back(best);
      const float *next = llama_get_embeddings_nextn_ith(predictor_, 0);
      read.assign(next, next + width_);
    }
    if (!shares_) llama_memory_seq_rm(llama_get_memory(predictor_), 0, end, -1);
    return found;
  }

 private:
  void pair(llama_token id, const float *result, int position) {
    memcpy(pairs_.embd + static_cast<size_t>(pairs_.n_tokens) * width_, result, width_ * sizeof(float));
    add(pairs_, id, position);
  }

  llama_context *model_;
  llama_context *predictor_;
  bool shares_;
  int width_ = 0;
  int kept_ = 1;
  llama_batch tokens_;
  llama_batch pairs_;
  std::vector<float> hidden_;
};

}  // namespace

int main(int argc, char **argv) {
  require(argc > 6, 1);
  llama_backend_init();
  llama_model *model = load(argv[1]);
  const bool shares = strcmp(argv[2], "-") != 0;
  const int count = atoi(argv[3]);
  const int shortest = atoi(argv[4]);
  std::vector<llama_token> allowed, ids;
  for (char *id = strtok(argv[5], ","); id; id = strtok(nullptr, ",")) allowed.push_back(atoi(id));
  for (int i = 6; i < argc; i++) ids.push_back(atoi(argv[i]));
  llama_context *context = open_context(model, nullptr, false);
  Predicting predicting(context, open_context(shares ? load(argv[2]) : model, context, !shares), shares);
  printf("[");
  for (int known = shortest; known <= static_cast<int>(ids.size()); known++) {
    predicting.advance(ids, known - 1);
    const std::vector<llama_token> drafts = predicting.drafts(ids[known - 1], count, allowed);
    for (int i = 0; i < count; i++) printf("%s%d", i > 0 ? "," : known > shortest ? ",[" : "[", drafts[i]);
    printf("]");
  }
  printf("]\n");
}
