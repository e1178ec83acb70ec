"""Trains models of transformers and torchvision from their archives of torch.export, and compares with PyTorch.

usage: torch_models.py FOLDER [NAME...]       with a Python that has torch, transformers and torchvision, and Sluice's tools on PATH

Each model has small random weights, dropout off, and a loss of three batches of four rows in float32. Three steps of SGD: a model trains if each loss is within 2e-4
of PyTorch's in f64, relative above 1, plus four times the difference of PyTorch's own losses in f32 and f64, which grows by steps where batch norm has few values. Prints a line per model: `trains`, `differs`, or the first error.
"""

import copy
import json
import subprocess
import sys
import warnings
from pathlib import Path

import torch
import torchvision
import transformers
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

ROWS, LENGTH, WORDS = 4, 16, 96
RATE, IMAGE_RATE = 0.125, 2.0 ** -13
TEXT = dict(vocab_size=WORDS, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64, pad_token_id=0,
            bos_token_id=1, eos_token_id=2, attention_dropout=0.0, hidden_dropout=0.0, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


class WithLoss(nn.Module):
    """A model of transformers that computes its loss from its inputs."""

    def __init__(self, model, **options):
        super().__init__()
        self.model, self.options = model, options

    def forward(self, **inputs):
        return self.model(**inputs, **self.options).loss


class Classifier(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images, classes):
        return F.cross_entropy(self.model(images), classes)


def tokens(**more):
    ids = torch.randint(3, WORDS, (ROWS, LENGTH))
    return {"input_ids": ids, "labels": torch.randint(3, WORDS, (ROWS, LENGTH)), **more}


def padded():
    mask = torch.ones(ROWS, LENGTH, dtype=torch.int64)
    for row in range(ROWS):
        mask[row, LENGTH - 2 * row:] = 0
    return tokens(attention_mask=mask)


def images(size=64, classes=10):
    return {"images": torch.randn(ROWS, 3, size, size), "classes": torch.randint(0, classes, (ROWS,))}


def causal(kind, **changes):
    def create():
        config = transformers.AutoConfig.for_model(kind, **{**TEXT, **changes})
        return WithLoss(transformers.AutoModelForCausalLM.from_config(config), use_cache=False)
    return create, tokens


def masked(kind, batch=tokens, **changes):
    return lambda: WithLoss(transformers.AutoModelForMaskedLM.from_config(transformers.AutoConfig.for_model(kind, **{**TEXT, **changes}))), batch


def vision(name, size=64, **options):
    return lambda: Classifier(getattr(torchvision.models, name)(num_classes=10, **options)), lambda: images(size)


def t5():
    config = transformers.T5Config(vocab_size=WORDS, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, dropout_rate=0.0, decoder_start_token_id=0)
    return WithLoss(transformers.T5ForConditionalGeneration(config), use_cache=False)


def bart():
    config = transformers.BartConfig(vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                                     encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=64, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
    return WithLoss(transformers.BartForConditionalGeneration(config), use_cache=False)


def whisper():
    config = transformers.WhisperConfig(vocab_size=WORDS, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
                                        encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=8, max_source_positions=16, max_target_positions=32, dropout=0.0,
                                        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    return WithLoss(transformers.WhisperForConditionalGeneration(config), use_cache=False)


def vit():
    config = transformers.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=16, patch_size=4, num_labels=10,
                                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return WithLoss(transformers.ViTForImageClassification(config))


def swin():
    config = transformers.SwinConfig(image_size=16, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=10, drop_path_rate=0.0,
                                     hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return WithLoss(transformers.SwinForImageClassification(config))


def pixels(size=16):
    return lambda: {"pixel_values": torch.randn(ROWS, 3, size, size), "labels": torch.randint(0, 10, (ROWS,))}


def clip():
    text = dict(vocab_size=WORDS, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32, attention_dropout=0.0,
                eos_token_id=2, bos_token_id=1, pad_token_id=0)
    image = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=16, patch_size=4, attention_dropout=0.0)
    return WithLoss(transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=image, projection_dim=16)), return_loss=True)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.words, self.layers, self.head = nn.Embedding(WORDS, 16), getattr(nn, kind)(16, 24, 2, batch_first=True, bidirectional=True), nn.Linear(48, 7)

    def forward(self, tokens, tags):
        return F.cross_entropy(self.head(self.layers(self.words(tokens))[0]).flatten(0, 1), tags.flatten())


class Encoder(nn.Module):
    """torch's own layers."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 48, dropout=0.0, batch_first=True, norm_first=True)
        self.words, self.layers, self.head = nn.Embedding(WORDS, 32), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, WORDS)

    def forward(self, tokens, tags):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return F.cross_entropy(self.head(self.layers(self.words(tokens), mask=mask, is_causal=True)).flatten(0, 1), tags.flatten())


def tagged():
    return {"tokens": torch.randint(0, WORDS, (ROWS, LENGTH)), "tags": torch.randint(0, 7, (ROWS, LENGTH))}


class Mixer(nn.Module):
    def __init__(self, patches=16, width=32):
        super().__init__()
        self.embed = nn.Conv2d(3, width, 4, stride=4)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.across = nn.ModuleList(nn.Sequential(nn.Linear(patches, 24), nn.GELU(), nn.Linear(24, patches)) for _ in range(2))
        self.within = nn.ModuleList(nn.Sequential(nn.Linear(width, 48), nn.GELU(), nn.Linear(48, width)) for _ in range(2))
        self.head = nn.Linear(width, 10)

    def forward(self, images, classes):
        x = self.embed(images).flatten(2).transpose(1, 2)
        for i in range(2):
            x = x + self.across[i](self.norms[2 * i](x).transpose(1, 2)).transpose(1, 2)
            x = x + self.within[i](self.norms[2 * i + 1](x))
        return F.cross_entropy(self.head(x.mean(dim=1)), classes)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.decode = nn.Sequential(nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.Upsample(scale_factor=2), nn.Conv2d(8, 3, 3, padding=1))

    def forward(self, images, classes):
        return F.mse_loss(self.decode(self.encode(images)), images)


def models():
    return {
        "gpt2": causal("gpt2", n_embd=32, n_layer=2, n_head=4, n_positions=64, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0),
        "gpt_neo": causal("gpt_neo", num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=8, resid_dropout=0.0, embed_dropout=0.0),
        "gpt_neox": causal("gpt_neox"), "gptj": causal("gptj", n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0),
        "gpt_bigcode": causal("gpt_bigcode", n_embd=32, n_layer=2, n_head=4, n_positions=64, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0),
        "llama": causal("llama", num_key_value_heads=2), "mistral": causal("mistral", num_key_value_heads=2, sliding_window=8),
        "qwen2": causal("qwen2", num_key_value_heads=2), "qwen3": causal("qwen3", num_key_value_heads=2, head_dim=8), "olmo": causal("olmo"), "olmo2": causal("olmo2"),
        "gemma": causal("gemma", num_key_value_heads=2, head_dim=8), "gemma2": causal("gemma2", num_key_value_heads=2, head_dim=8, sliding_window=8),
        "phi": causal("phi", num_key_value_heads=4, resid_pdrop=0.0, embd_pdrop=0.0), "phi3": causal("phi3", num_key_value_heads=2, resid_pdrop=0.0, embd_pdrop=0.0),
        "falcon": causal("falcon", new_decoder_architecture=True, num_kv_heads=2), "bloom": causal("bloom", n_layer=2, n_head=4),
        "opt": causal("opt", ffn_dim=48, word_embed_proj_dim=32, dropout=0.0), "cohere": causal("cohere", num_key_value_heads=2),
        "starcoder2": causal("starcoder2", num_key_value_heads=2, residual_dropout=0.0, embedding_dropout=0.0), "stablelm": causal("stablelm", num_key_value_heads=2),
        "glm": causal("glm", num_key_value_heads=2, head_dim=8), "granite": causal("granite", num_key_value_heads=2), "nemotron": causal("nemotron", num_key_value_heads=2),
        "mamba": causal("mamba", state_size=4, use_mambapy=False), "mixtral": causal("mixtral", num_key_value_heads=2, num_local_experts=4),
        "bert": masked("bert"), "bert with a padding mask": masked("bert", padded), "roberta": masked("roberta"), "distilbert": masked("distilbert", dim=32, n_layers=2, n_heads=4, hidden_dim=48, dropout=0.0),
        "albert": masked("albert", embedding_size=16), "electra": masked("electra", embedding_size=16),
        "deberta-v2": masked("deberta-v2", relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"]),
        "t5": (t5, tokens), "bart": (bart, tokens), "whisper": (whisper, lambda: {"input_features": torch.randn(ROWS, 8, 32), "labels": torch.randint(3, WORDS, (ROWS, LENGTH))}),
        "clip": (clip, lambda: {"input_ids": torch.randint(3, WORDS, (ROWS, LENGTH)), "pixel_values": torch.randn(ROWS, 3, 16, 16)}),
        "vit (transformers)": (vit, pixels()), "swin": (swin, pixels()),
        "vit_b_16": (lambda: Classifier(torchvision.models.VisionTransformer(16, 4, 2, 4, 32, 48, num_classes=10)), lambda: images(16)),
        "resnet18": vision("resnet18"), "resnet50": vision("resnet50"), "wide_resnet": vision("resnet18", norm_layer=lambda width: nn.GroupNorm(8, width)),
        "densenet": (lambda: Classifier(torchvision.models.DenseNet(8, (2, 2), 16, num_classes=10)), images), "efficientnet_b0": vision("efficientnet_b0", dropout=0.0, stochastic_depth_prob=0.0),
        "mobilenet_v3_small": vision("mobilenet_v3_small", dropout=0.0), "mobilenet_v2": vision("mobilenet_v2", dropout=0.0), "convnext_tiny": vision("convnext_tiny", stochastic_depth_prob=0.0),
        "vgg11": vision("vgg11", dropout=0.0), "squeezenet1_1": vision("squeezenet1_1", size=64, dropout=0.0), "shufflenet_v2_x0_5": vision("shufflenet_v2_x0_5"),
        "regnet_y_400mf": vision("regnet_y_400mf"), "googlenet": vision("googlenet", size=64, aux_logits=False, init_weights=False, dropout=0.0),
        "lstm": (lambda: Recurrent("LSTM"), tagged), "gru": (lambda: Recurrent("GRU"), tagged), "rnn": (lambda: Recurrent("RNN"), tagged),
        "TransformerEncoder": (Encoder, tagged), "mlp-mixer": (Mixer, lambda: images(16)), "autoencoder": (Autoencoder, lambda: images(16)),
    }


def train(module, batches, rate):
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=rate)
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = module(**batch)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return losses


def tool(*arguments):
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if not line.startswith("warning")]
        raise RuntimeError((lines or ["no message"])[0][:240] if done.returncode > 0 else f"signal {-done.returncode}")
    return done


def check(name, create, batch, folder):
    torch.manual_seed(7)
    module = create().train()
    for parameter in module.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, 0.0, min(0.1, parameter[0].numel() ** -0.5))
    batches = [batch() for _ in range(3)]
    archive, model, plan, data, log = (folder / f"{name.replace(' ', '-')}.{end}" for end in ("pt2", "mlir", "plan", "safetensors", "jsonl"))
    torch.export.save(torch.export.export(module, (), batches[0], strict=False), archive)
    rate = IMAGE_RATE if isinstance(module, Classifier) else RATE
    double = copy.deepcopy(module).double()
    single = train(module, batches, rate)
    wide = [{key: value.double() if value.is_floating_point() else value for key, value in each.items()} for each in batches]
    torch.set_default_dtype(torch.float64)
    try:
        wanted = train(double, wide, rate)
    finally:
        torch.set_default_dtype(torch.float32)
    tool("sluice-import", "export", archive, "-o", model, "--weights", model.with_suffix(".weights.safetensors"))
    text = model.read_text()
    save_file({key: torch.cat([each[key] for each in batches]).contiguous() for key in batches[0] if f'model.input = "{key}"' in text}, data)
    tool("sluice-compile", model, "--set", "optimizer.name=sgd", "--set", f"optimizer.lr={rate}", "-o", plan)
    tool("sluice-train", plan, "--init", model.with_suffix(".weights.safetensors"), "--data", data, "--order", "sequential", "--steps", 3, "--log", log)
    found = [json.loads(line)["loss"] for line in log.read_text().splitlines() if "loss" in json.loads(line)]
    isEqual = len(found) == 3 and all(abs(a - b) <= 2e-4 * max(1, abs(b)) + 4 * abs(b - c) for a, b, c in zip(found, wanted, single))
    return f"trains   {found}" if isEqual else f"differs  {found}, expected {wanted}"


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    trained = 0
    chosen = {name: each for name, each in models().items() if not sys.argv[2:] or name in sys.argv[2:]}
    for name, (create, batch) in chosen.items():
        try:
            result = check(name, create, batch, folder)
        except Exception as error:
            result = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]
        trained += result.startswith("trains")
        print(f"{name:26} {result}", flush=True)
    print(f"{trained} of {len(chosen)} models train")
    return 0


if __name__ == "__main__":
    sys.exit(main())
