"""Trains the byte-pair tokenizer of this folder on the licence texts of Debian. Needs the Python package tokenizers (0.23)."""

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

folder = Path(__file__).parent
texts = sorted(str(path) for path in Path("/usr/share/common-licenses").iterdir() if not path.is_symlink())
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.train(texts, trainers.BpeTrainer(vocab_size=1024, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                           special_tokens=["<|endoftext|>"], show_progress=False))
(folder / "tokenizer.json").write_text(tokenizer.to_str() + "\n", encoding="utf-8")
