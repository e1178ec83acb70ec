"""tokenizer_cases.py [FOLDER]: trains the small tokenizers of the tests and writes the ids and texts that they give.

FOLDER/corpus.json is a list of texts. FOLDER/NAME is a folder as transformers writes it, and FOLDER/NAME/expected.json
has for each text: "ids" without and "special" with special tokens, "decoded" (null: the text itself) and, where special
tokens are skipped, "skipped". Needs the Python packages tokenizers, transformers and sentencepiece.
"""

import io
import json
import random
import shutil
import sys
from pathlib import Path

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, LlamaTokenizer

PROSE = """The gate opens just before the water is needed, and it closes just after. We'll see what's left; they're sure I'd come, don't you?
Die Schleuse öffnet sich kurz bevor das Wasser gebraucht wird. Äpfel, Öl und Übermut kosten 12,50 €.
L'écluse s'ouvre juste avant qu'on ait besoin d'eau : c'est déjà l'été, n'est-ce pas ?
La compuerta se abre justo antes de que se necesite el agua. ¿Cuánto cuesta? ¡Mañana será otro día!
Ворота открываются незадолго до того, как понадобится вода. Съешь ещё этих мягких французских булок.
Η πύλη ανοίγει λίγο πριν χρειαστεί το νερό. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία, ΟΔΥΣΣΕΥΣ.
水门在需要水之前打开,之后立即关闭。今天天气很好,我们去公园吧!
水が必要になる直前にゲートが開きます。カタカナとひらがな、漢字も少し。
물이 필요하기 직전에 수문이 열립니다. 안녕하세요, 반갑습니다.
تفتح البوابة قبل الحاجة إلى الماء مباشرة. السلام عليكم ورحمة الله.
השער נפתח רגע לפני שצריך את המים. שָׁלוֹם עֲלֵיכֶם.
पानी की ज़रूरत से ठीक पहले द्वार खुलता है। नमस्ते दुनिया।
ประตูน้ำเปิดก่อนที่จะต้องใช้น้ำ สวัสดีชาวโลก
Cổng mở ngay trước khi cần nước. Tiếng Việt có nhiều dấu.
Su kapısı suya ihtiyaç duyulmadan hemen önce açılır. İstanbul'da ılık bir gün.
def gather(parameters, axis=0):\n    for name, value in parameters.items():\n        if value is None:  # nothing\n            continue\n\tyield name, value[:, axis] * 3.14e-10
#include <vector>\nint main() {\n  std::vector<int> v{1, 2, 3};\n  return v[0] == 0x1F ? 1 : 0;\n}
SELECT id, name FROM users WHERE created_at >= '2026-11-23' AND id != 42;
The year 1984, 3.14159, 1,000,000 and ١٢٣ or Ⅷ or ½ or 10⁻³ are numbers.
"""

CASES = [
    "", " ", "  ", "\n", "\t", "a", " a", "a ", "  a  b   c    ", "\n\n\n", " \n \n", "a\n\nb\r\nc\rd", "\r\n\r\n", "tab\tand  two",
    "trailing   ", "   leading", "\u3000ideographic\u3000space", "no\u00a0break\u00a0space", "line\u2028separator\u0085next",
    "zero\u200bwidth\u200djoiner\ufeffmark", "mongolian\u180eseparator", "control\x00\x01\x07\x7f\x1b[0m", "\ufffd replacement",
    "it's IT'S I'LL we'Re don't 'tis ''s's 'ſ", "x'll y've z'd w'm v't u're", "under_score __init__ a_b_c",
    "1 12 123 1234 12345 1234567890", "1.5e-3 0xFF 1,234,567", "²³¹ ½ Ⅷ ٣٤٥ १२३ 十二", "#$%^&*()[]{}<>/\\|~`+=",
    "....!!!???,,,;;;:::", "\u00bf\u00a1\u201cquoted\u201d \u2018single\u2019 \u2014 dash\u2026", "-- --- ->=>!==",
    "cafe\u0301 caf\u00e9 \u1e69 s\u0323\u0307 s\u0307\u0323", "\u212b \ufb01 \uff21\uff22 \u2460 \u3392 \u00c5", "\u0130stanbul DI\u015eARI \u1e9e\u00df \u03a3\u03c3\u03c2 \u01c5",
    "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd \u2764\ufe0f", "a\U0001f600b \U0001d54f\U00020000 \U0010ffff",
    "\u0e01\u0e33 \u0b95\u0bcd\u0bb7 \u1780\u17d2 \u0f42\u0f7c", "\u2581under\u2581 \u2581", "##word ##", "\u0120gpt \u010a",
    "<s>", "</s>", "<s> hello </s>", "a<s>b</s>c", "<|endoftext|>", "one<|endoftext|>two", " <|endoftext|> \n<|endoftext|>", "<|im_start|>user\nhi<|im_end|>\n",
    "<|begin_of_text|>x<|eot_id|>", "<|endoftex|> <|end", "[CLS] a [SEP] [MASK] b[MASK]c [UNK]", "<pad><unk><mask> <mask>  x", "  <mask>  ",
    "<0x41><0xE4>", "foo<word>bar <word> x<word>", "CAF\u00c9 Caf\u00e9 added", "x" * 120, "ab" * 60 + " " + "\u6c34" * 30,
    "a" + " " * 40 + "b", "\n" * 20 + "end", " \t \t\n \t", "mixed\u6c34\u6587English\u3053\u3093\u306b\u3061\u306f123",
]


def corpus():
    lines = [line.replace("\\n", "\n").replace("\\t", "\t") for line in PROSE.splitlines()]
    generator = random.Random(7)
    pools = ["abcdefgh", "ABC", "0123456789", "   ", "\n\t\r", ".,!?'\"-_", "\u00e9\u00df\u00f1\u0301\u0308", "\u0434\u0435\u0436", "\u03b1\u03b2", "\u6c34\u95e8", "\u3042\u30ab", "\uc218", "\u0628\u0629",
             "\u0915\u093f", "\U0001f600\U0001f44d\u200d\ufe0f", "\u00a0\u2003\u200b", "\u2581", "'s", "\u01c6\u2168\u00bd"]
    mixed = ["".join(generator.choice(generator.choice(pools)) for _ in range(generator.randint(1, 40))) for _ in range(120)]
    tokens = ["<s>", "</s>", "<|endoftext|>", "<|im_end|>", "<mask>", "<word>", "[MASK]", "<|eot_id|>", " ", "  ", "\n", "word", "x"]
    special = ["".join(generator.choice(tokens) for _ in range(generator.randint(2, 8))) for _ in range(40)]
    return lines, CASES + lines + ["\n".join(lines)] + mixed + special


LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def special(*contents):
    return [AddedToken(content, special=True, normalized=False) for content in contents]


def byte_level(lines, size, pre_tokenizer, normalizer=None, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizer, decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return tokenizer


def split_by(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2(lines):
    tokenizer = byte_level(lines, 700, pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.add_special_tokens(special("<|endoftext|>"))
    return tokenizer, {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "tokenizer_class": "GPT2Tokenizer"}


def llama3(lines):
    tokenizer = byte_level(lines, 800, split_by(LLAMA3), ignore_merges=True)
    tokenizer.add_special_tokens(special("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"))
    template = processors.TemplateProcessing("<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", tokenizer.token_to_id("<|begin_of_text|>"))])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tokenizer, {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}


def qwen2(lines):
    tokenizer = byte_level(lines, 800, split_by(QWEN2), normalizers.NFC())
    tokenizer.add_special_tokens(special("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
    # A token that is not special, and normalized ones.
    tokenizer.add_tokens([AddedToken("<word>", single_word=True, normalized=False), AddedToken("caf\u00e9", normalized=True),
                          AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False)])
    return tokenizer, {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "tokenizer_class": "Qwen2Tokenizer"}


def sentencepiece_model(lines):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([part for line in lines for part in line.split("\n")]), model_writer=out, model_type="bpe", vocab_size=760, byte_fallback=True, character_coverage=0.98,
        normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True,
        add_dummy_prefix=True, unk_id=0, bos_id=1, eos_id=2, minloglevel=2)
    return out.getvalue()


def vocabulary_of(model):
    """The tokens of a model of sentencepiece and the merges that give the same ids: every pair of tokens that is a token, best token first."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    vocabulary = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    merges = []
    for piece, rank in vocabulary.items():
        splits = [(piece[:i], piece[i:]) for i in range(1, len(piece)) if piece[:i] in vocabulary and piece[i:] in vocabulary]
        merges += sorted(splits, key=lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]])) if not piece.startswith("<") else []
    return vocabulary, merges


def mistral(lines):
    """As in the files of Mistral and Llama 2."""
    vocabulary, merges = vocabulary_of(sentencepiece_model(lines))
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.add_special_tokens(special("<unk>", "<s>", "</s>"))
    return tokenizer, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True, "add_eos_token": False}


def llama2(lines):
    """As transformers 5 builds the tokenizer of Llama 2 and Mistral."""
    tokenizer, settings = mistral(lines)
    tokenizer.normalizer = None
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return tokenizer, {**settings, "add_eos_token": True, "tokenizer_class": "LlamaTokenizer", "legacy": False}


def bert(lines):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=50))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=700, special_tokens=tokens, show_progress=False))
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", tokenizer.token_to_id("[SEP]")), ("[CLS]", tokenizer.token_to_id("[CLS]")))
    return tokenizer, {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"}


def unigram(lines):
    """The pipeline of T5 and ALBERT, with a normal form in place of a precompiled one."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
                                                 normalizers.Strip(True, True), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    tokenizer.train_from_iterator(lines, trainers.UnigramTrainer(vocab_size=500, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))])
    return tokenizer, {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def other_stages(lines):
    """Stages that the other tokenizers do not have."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False, continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.NFD(), normalizers.Strip(True, False)])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.Split("e", "merged_with_previous"), pre_tokenizers.Split("a", "merged_with_next"), pre_tokenizers.Split(Regex("[b-d]+"), "removed", invert=True)])
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=120, special_tokens=["<unk>"], continuing_subword_prefix="##",
                                                             end_of_word_suffix="</w>", limit_alphabet=40, show_progress=False))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 0), ("<s>", 1))
    return tokenizer, {"unk_token": "<unk>"}


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def freeze(folder, texts, encode, decode):
    cases = []
    for text in texts:
        ids, with_special = encode(text, False), encode(text, True)
        decoded, skipped = decode(with_special, False), decode(with_special, True)
        cases.append({"ids": ids, "special": with_special, "decoded": None if decoded == text else decoded, "skipped": None if skipped == text else skipped})
    (folder / "expected.json").write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases) + "\n]\n")


# Of folders with tokenizer.model and without tokenizer.json.
SENTENCEPIECE = {
    "sentencepiece": {},
    "sentencepiece-llama": {
        "tokenizer_class": "LlamaTokenizer", "legacy": False, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True,
        "added_tokens_decoder": {
            "760": {"content": "<|im_start|>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True},
            "761": {"content": "<mask>", "lstrip": True, "rstrip": True, "normalized": False, "single_word": False, "special": True},
            "762": {"content": "<word>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": True, "special": False}}},
}


def sentencepiece_cases(folder, model, settings, texts):
    """The texts are those of transformers. The ids between added tokens are those of the sentencepiece package: the
    class of transformers 5 has no prefix before a space, in which it differs from the package and from earlier versions."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "tokenizer.model").write_bytes(model)
    if settings:
        write_json(folder / "tokenizer_config.json", settings)
    loaded = LlamaTokenizer.from_pretrained(folder, **({} if settings else {"legacy": True}))
    split = loaded._tokenizer
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
    # normalizer_spec { add_dummy_prefix: false }
    continued = sentencepiece.SentencePieceProcessor(model_proto=model + b"\x1a\x02\x18\x00")

    def encode(text, special):
        ids, done, spaced = [1] if special else [], 0, False

        def encode_until(end):
            nonlocal spaced
            spaced |= text[done:done + 1] in (" ", "\u2581")
            return (pieces if done == 0 or not settings else continued).encode(text[done:end]) if done < end else []

        encoding = split.encode(text, add_special_tokens=False)
        for id, (begin, end) in zip(encoding.ids, encoding.offsets):
            if id in loaded.added_tokens_decoder:
                ids += encode_until(begin) + [id]
                done = end
        ids += encode_until(len(text))
        expected = loaded(text, add_special_tokens=special)["input_ids"]
        assert spaced or ids == expected or not settings and ids[1:] == expected, (text, ids, expected)
        return ids

    freeze(folder, texts, encode, lambda ids, skip: loaded.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False))


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "tokenizers")
    lines, texts = corpus()
    root.mkdir(parents=True, exist_ok=True)
    write_json(root / "corpus.json", texts)
    for make in (gpt2, llama3, qwen2, mistral, llama2, bert, unigram, other_stages):
        folder = root / make.__name__.replace("_", "-")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        tokenizer, settings = make(lines)
        write_json(folder / "tokenizer.json", json.loads(tokenizer.to_str()))
        write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **settings})
        loaded = AutoTokenizer.from_pretrained(folder)
        freeze(folder, texts, lambda text, special: loaded(text, add_special_tokens=special)["input_ids"],
               lambda ids, skip: loaded.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False))
    for name, settings in SENTENCEPIECE.items():
        sentencepiece_cases(root / name, sentencepiece_model(lines), settings, texts)


if __name__ == "__main__":
    main()
