"""Trains a small model of a family with PyTorch and transformers, as evidence that real weights run right here.

    python3 train.py --family qwen35moe --text tinyshakespeare.txt --out folder [--steps 600] [--seed 1]

Writes `<family>.safetensors` (weights rounded to f16, under transformers' own names) and `<family>.json`: the
configuration, the tokenizer, windows of held-back text with transformers' log-likelihood of each token (f32, without
TF32), and a greedy continuation. `convert.ts` makes a GGUF file of the two; `compare.ts` compares that with the JSON.

Needs a GPU, torch and transformers 5. Nothing is downloaded.
"""

import argparse
import copy
import json
import math
import os
import time

import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn import functional as F

VOCABULARY = 1024
WIDTH = 256
WINDOW = 256
WINDOWS = 24
BATCH = 32
END = "<|endoftext|>"

COMMON = dict(
    vocab_size=VOCABULARY,
    hidden_size=WIDTH,
    max_position_embeddings=2048,
    initializer_range=0.02,
    bos_token_id=0,
    eos_token_id=0,
    pad_token_id=None,
)


def qwen35moe():
    """A gated delta net hybrid with experts; every fourth layer attends."""
    config = transformers.Qwen3_5MoeTextConfig(
        **COMMON,
        tie_word_embeddings=True,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        rope_parameters=dict(
            rope_type="default",
            rope_theta=10000.0,
            partial_rotary_factor=0.25,
            mrope_section=[3, 3, 2],
            mrope_interleaved=True,
        ),
        linear_key_head_dim=32,
        linear_value_head_dim=32,
        linear_num_key_heads=4,
        linear_num_value_heads=8,
        moe_intermediate_size=256,
        shared_expert_intermediate_size=256,
        num_experts=4,
        num_experts_per_tok=2,
    )
    return transformers.Qwen3_5MoeForCausalLM, config


def gpt_oss():
    """Attention sinks, windows in every other layer, biased experts with a clamped SwiGLU."""
    config = transformers.GptOssConfig(
        **COMMON,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=32,
        intermediate_size=256,
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=128,
        rope_parameters=dict(
            rope_type="yarn",
            rope_theta=150000.0,
            factor=4.0,
            beta_fast=32.0,
            beta_slow=1.0,
            truncate=False,
            original_max_position_embeddings=512,
        ),
    )
    return transformers.GptOssForCausalLM, config


def deepseek2():
    """Latent attention and a mixture whose first layer is dense."""
    config = transformers.DeepseekV3Config(
        **COMMON,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        intermediate_size=512,
        moe_intermediate_size=256,
        n_shared_experts=1,
        n_routed_experts=4,
        num_experts_per_tok=2,
        n_group=1,
        topk_group=1,
        routed_scaling_factor=1.5,
        norm_topk_prob=True,
        first_k_dense_replace=1,
        kv_lora_rank=64,
        q_lora_rank=128,
        qk_rope_head_dim=32,
        qk_nope_head_dim=32,
        v_head_dim=64,
        num_mtp_layers=0,
        rope_parameters=dict(rope_type="default", rope_theta=10000.0),
    )
    return transformers.DeepseekV3ForCausalLM, config


def granitehybrid():
    """Mamba-2 with one layer of attention without rotary."""
    config = transformers.GraniteMoeHybridConfig(
        **COMMON,
        tie_word_embeddings=True,
        num_hidden_layers=4,
        layer_types=["mamba", "mamba", "attention", "mamba"],
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=256,
        shared_intermediate_size=512,
        num_local_experts=0,
        num_experts_per_tok=0,
        embedding_multiplier=6.0,
        residual_multiplier=0.5,
        attention_multiplier=0.125,
        logits_scaling=2.0,
        position_embedding_type=None,
        mamba_n_heads=8,
        mamba_n_groups=1,
        mamba_d_state=64,
        mamba_d_head=64,
        mamba_expand=2,
        mamba_chunk_size=64,
    )
    return transformers.GraniteMoeHybridForCausalLM, config


FAMILIES = dict(qwen35moe=qwen35moe, gpt_oss=gpt_oss, deepseek2=deepseek2, granitehybrid=granitehybrid)


def train_tokenizer(text):
    """A byte-level BPE vocabulary with GPT-2's pre-tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([text], trainer)
    assert tokenizer.get_vocab_size() == VOCABULARY
    return tokenizer


def new_model(kind, config):
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    return kind(config).cuda().float()


def batches(ids, steps, seed):
    """Random windows of the text, one token longer than what is predicted."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        starts = torch.randint(len(ids) - WINDOW - 2, (BATCH,), generator=generator)
        yield torch.stack([ids[start : start + WINDOW + 2] for start in starts]).cuda()


def optimize(parameters, loss_of, ids, *, steps, seed, rate, label):
    parameters = [parameter for parameter in parameters if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.1, betas=(0.9, 0.95))
    begin = time.time()
    for step, batch in enumerate(batches(ids, steps, seed)):
        warm = min(1.0, (step + 1) / 40)
        optimizer.param_groups[0]["lr"] = rate * warm * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / steps)))
        loss = loss_of(batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"{label} {step}: loss {loss.item():.3f}, {time.time() - begin:.0f} s", flush=True)


def next_token_loss(model):
    def loss(batch):
        logits = model(input_ids=batch[:, :WINDOW], use_cache=False).logits
        return F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1 : WINDOW + 1].flatten())

    return loss


class NextNextToken(torch.nn.Module):
    """Qwen 3.5's multi-token prediction: a layer over a token's embedding and the trunk's state before it."""

    def __init__(self, trunk, config):
        super().__init__()
        from transformers.models.qwen3_5_moe import modeling_qwen3_5_moe as qwen

        config = copy.deepcopy(config)
        config.layer_types = list(config.layer_types) + ["full_attention"]
        config.num_hidden_layers += 1
        # In a list, so that the trunk is no part of this module's parameters.
        self.trunk = [trunk]
        self.layers = torch.nn.ModuleList([qwen.Qwen3_5MoeDecoderLayer(config, config.num_hidden_layers - 1)])
        self.fc = torch.nn.Linear(2 * WIDTH, WIDTH, bias=False)
        norm = lambda: qwen.Qwen3_5MoeRMSNorm(WIDTH, eps=config.rms_norm_eps)
        self.pre_fc_norm_embedding, self.pre_fc_norm_hidden, self.norm = norm(), norm(), norm()
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=config.initializer_range)

    def forward(self, ids, hidden):
        """Logits of the token behind `ids`' next: `hidden[t]` is the trunk's state at t, `ids[t]` the token at t + 1."""
        (trunk,) = self.trunk
        joined = torch.cat(
            [self.pre_fc_norm_embedding(trunk.model.embed_tokens(ids)), self.pre_fc_norm_hidden(hidden)], dim=-1
        )
        states = self.fc(joined)
        length = ids.shape[1]
        positions = torch.arange(length, device=ids.device).view(1, 1, -1).expand(3, ids.shape[0], -1)
        mask = torch.full((length, length), float("-inf"), device=ids.device).triu(1)[None, None]
        states = self.layers[0](
            states, position_embeddings=trunk.model.rotary_emb(states, positions), attention_mask=mask
        )
        return trunk.lm_head(self.norm(states))

    def state(self):
        return {f"mtp.{name}": value for name, value in self.state_dict().items()}


def train_draft_head(model, config, ids, steps):
    head = NextNextToken(model, config).cuda()
    model.requires_grad_(False)

    def loss(batch):
        with torch.no_grad():
            hidden = model.model(input_ids=batch[:, :WINDOW], use_cache=False).last_hidden_state
        logits = head(batch[:, 1 : WINDOW + 1], hidden)
        return F.cross_entropy(logits.flatten(0, 1), batch[:, 2 : WINDOW + 2].flatten())

    optimize(head.parameters(), loss, ids, steps=steps, seed=7, rate=2e-3, label="mtp")
    return head


def round_to_f16(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(parameter.half().float())


@torch.no_grad()
def reference(model, head, held, tokenizer):
    """What transformers says of held-back text, to compare with."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    windows = held[: WINDOWS * WINDOW].view(WINDOWS, WINDOW).cuda()
    logits = model(input_ids=windows, use_cache=False).logits.double()
    chosen = logits[:, :-1].log_softmax(-1).gather(-1, windows[:, 1:, None]).squeeze(-1)
    prompt = windows[0, :32]
    text = prompt.clone()
    for _ in range(96):
        text = torch.cat([text, model(input_ids=text[None], use_cache=False).logits[0, -1].argmax()[None]])
    result = dict(
        windows=windows.tolist(),
        logLikelihoods=[[round(value, 6) for value in row] for row in chosen.tolist()],
        perplexity=math.exp(-chosen.mean().item()),
        prompt=prompt.tolist(),
        greedy=text[32:].tolist(),
        text=tokenizer.decode(text.tolist()),
    )
    if head:
        hidden = model.model(input_ids=windows, use_cache=False).last_hidden_state
        guesses = head(windows[:, 1:], hidden[:, :-1]).argmax(-1)[:, :-1]
        result["draftAgreement"] = (guesses == logits[:, 1:-1].argmax(-1)).double().mean().item()
    return result


def finite(config):
    """The configuration without infinite limits, which JSON cannot hold."""
    return {key: value for key, value in config.items() if "Infinity" not in json.dumps(value, default=str)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=FAMILIES, required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    with open(options.text, encoding="utf-8") as file:
        text = file.read()
    cut = int(len(text) * 0.95)
    tokenizer = train_tokenizer(text[:cut])
    ids = torch.tensor(tokenizer.encode(text[:cut]).ids)
    held = torch.tensor(tokenizer.encode(text[cut:]).ids)

    kind, config = FAMILIES[options.family]()
    model = new_model(kind, config)
    print(f"{options.family}: {sum(p.numel() for p in model.parameters()) / 1e6:.2f} M weights, {len(ids)} tokens")
    optimize(
        model.parameters(),
        next_token_loss(model),
        ids,
        steps=options.steps,
        seed=options.seed,
        rate=2e-3,
        label=options.family,
    )
    round_to_f16(model)
    head = train_draft_head(model, config, ids, options.steps // 2) if options.family == "qwen35moe" else None
    if head:
        round_to_f16(head)

    weights = {name: value for name, value in model.state_dict().items() if name != "lm_head.weight" or not config.tie_word_embeddings}
    if head:
        weights |= head.state()
    path = os.path.join(options.out, options.family)
    save_file({name: value.half().contiguous().cpu() for name, value in weights.items()}, f"{path}.safetensors")
    found = reference(model, head, held, tokenizer)
    with open(f"{path}.json", "w", encoding="utf-8") as file:
        json.dump(
            dict(
                family=options.family,
                transformers=transformers.__version__,
                config=finite(config.to_dict()),
                tokenizer=json.loads(tokenizer.to_str())["model"],
                **found,
            ),
            file,
            default=str,
        )
    print(f"{options.family}: perplexity {found['perplexity']:.4f}, draft agreement {found.get('draftAgreement')}")
    print(found["text"])


if __name__ == "__main__":
    main()
