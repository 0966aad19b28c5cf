#!/usr/bin/env python3
"""Makes sentencepiece/NAME.json: a SentencePiece model, the files that a family publishes beside it, and the ids that its class
of transformers gives. The ids are SentencePiece's own, put together as the class's definition says, and not by tokenizer.json.

    apt-get install python3-sentencepiece
    /usr/bin/python3 make-sentencepiece.py

No test runs it. The texts are our own; families.py notes which vectors passed."""
import base64
import io
import json
import re
import string
import tempfile
import unicodedata
from pathlib import Path

import sentencepiece

HERE = Path(__file__).parent
TRAINING = """The compiler reads the text of a model and writes a program that is small, right and fast.
A translator reads words of one language, and writes those of another: the words, not the letters.
Attention looks at all positions, and a recurrent cell at one; both are trained on the same sentences.
Die Übersetzerin liest den Text, schreibt die Wörter und prüft sie noch einmal. Der Text ist kurz.
In 2017 there were 1,024 or 2,048 positions; today there are 32,768, 65,536 and more (9,999 times 10).
Le compilateur lit le texte, et la traductrice écrit les mots. Le texte est court, l'été est long.
Модель читает текст и пишет слова. Текст короткий, а слова длинные.
Reading, writing, looking, training: the reader, the writer and the trainer read, write and train."""
RULES = "FB01\t66 69\n3000\t20\n9\t20\nA\t20\nD\t20\nA0\t20\n61 30A\tE5\nFF01\t21\n200B\t\n"
TEXTS = ["", " ", "  \t ", "Hello world", " Hello  world ", "The compiler reads   the text.", "the words, the letters: 9,999 and 1,024, 65,536",
         "it's ``quoted'' (here) -- x!? É é", "naïve Übersetzerin Модель читает текст", "日本語のテキスト", "🦙 a🦙🦙b жz", "e\u0301 \ufb01 a\u030a \u3000x\uff01",
         "a\tb\nc\r\n\nd", "▁under ▁ __x__", "reading writing looking", "AAAaaa bbbb", "x", "1", "<0x41> <pad x>", "l'été\u00a0long\u200b."]


def train(kind, size, rules=RULES, **options):
    """A model; `rules` are those of characters, in SentencePiece's format, or None for the identity."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "rules.tsv"
        table.write_text(rules or "")
        out = io.BytesIO()
        named = {"normalization_rule_tsv": str(table)} if rules else {"normalization_rule_name": "identity"}
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TRAINING.split("\n")), model_writer=out, model_type=kind, vocab_size=size,
            hard_vocab_limit=False, character_coverage=1.0, minloglevel=2, num_threads=1, self_test_sample_size=0, **named, **options)
        return out.getvalue()


class Family:
    """A class of transformers: how its text becomes ids."""
    FILE, UNKNOWN, MASK = "spiece.model", "<unk>", None
    ROLES = ("</s>", "<unk>", "<pad>")
    PAIRS = ["Hello", "the text"]

    def __init__(self, model, config=None, **files):
        self.bytes, self.config, self.more = model, config or {}, files
        self.pieces = sentencepiece.SentencePieceProcessor(model_proto=model)

    def special(self):
        """The tokens that are cut out of a text, with their ids."""
        return {token: self.id(token) for token in self.ROLES}

    def rewrite(self, text):
        return text

    def cut(self, text):
        return self.pieces.encode(self.rewrite(text), out_type=str)

    def id(self, piece):
        return self.pieces.piece_to_id(piece)

    def bare(self, text):
        special = self.special()
        ids = []
        for stretch in re.split("(" + "|".join(map(re.escape, sorted(special, key=len, reverse=True))) + ")", text):
            if stretch in special:
                ids.append(special[stretch])
            else:
                ids += [self.id(piece) for piece in self.cut(stretch)]
        return ids

    def frame(self, first, second=None):
        return first + (second or []) + [self.id("</s>")]

    def written(self, text):
        """The text that the ids of a text are read as, or None where some are of special tokens."""
        return None if set(self.special().values()) & set(self.bare(text)) else self.pieces.decode(self.cut(text))

    def files(self):
        return {self.FILE: self.bytes, "tokenizer_config.json": json.dumps(self.config).encode(),
                **{name.replace("__", "."): json.dumps(value, ensure_ascii=False).encode() for name, value in self.more.items()}}


class T5(Family):
    def extra(self):
        return self.config.get("extra_ids", 100)

    def id(self, piece):
        number = re.fullmatch(r"<extra_id_(\d+)>", piece)
        if number and int(number[1]) < self.extra():
            return self.pieces.get_piece_size() + self.extra() - 1 - int(number[1])
        return super().id(piece)

    def special(self):
        return {**super().special(), **{f"<extra_id_{i}>": self.id(f"<extra_id_{i}>") for i in range(self.extra())}}

    def frame(self, first, second=None):
        return first + [self.id("</s>")] + (second + [self.id("</s>")] if second is not None else [])


class Pegasus(Family):
    FIRST = ["<pad>", "</s>", "<mask_1>", "<mask_2>", *(f"<unk_{i}>" for i in range(2, 103))]

    def id(self, piece):
        return self.FIRST.index(piece) if piece in self.FIRST else self.pieces.piece_to_id(piece) + 103

    def special(self):
        return {**super().special(), **{token: self.id(token) for token in self.FIRST}}


class XLMRoberta(Family):
    FILE, MASK = "sentencepiece.bpe.model", "<mask>"
    FIRST, OFFSET, LANGUAGES = ["<s>", "<pad>", "</s>", "<unk>"], 1, []

    def id(self, piece):
        if piece in self.FIRST:
            return self.FIRST.index(piece)
        if piece in self.LANGUAGES:
            return self.pieces.get_piece_size() + self.OFFSET + self.LANGUAGES.index(piece)
        if piece == self.MASK:
            return self.pieces.get_piece_size() + self.OFFSET + len(self.LANGUAGES)
        number = self.pieces.piece_to_id(piece)
        return number + self.OFFSET if number else 3

    def special(self):
        return {token: self.id(token) for token in [*self.FIRST, *self.LANGUAGES, self.MASK]}

    def bare(self, text):
        return super().bare(re.sub(r"\s+<mask>", "<mask>", text))  # the spaces before a mask are its own

    def frame(self, first, second=None):
        ids = [0, *first, 2]
        return ids if second is None else [*ids, 2, *second, 2]


class MBart(XLMRoberta):
    LANGUAGES = ("ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM "
                 "ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN").split()

    def frame(self, first, second=None):
        return [*first, *(second or []), 2, self.id(self.config.get("src_lang", "en_XX"))]


class MBart50(MBart):
    LANGUAGES = MBart.LANGUAGES + ("af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF "
                                   "pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI").split()

    def frame(self, first, second=None):
        return [self.id(self.config.get("src_lang", "en_XX")), *first, *(second or []), 2]


class Camembert(XLMRoberta):
    FIRST, OFFSET = ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"], 4

    def id(self, piece):
        if piece in ("<s>", "</s>"):
            return self.pieces.piece_to_id(piece) + self.OFFSET
        return super().id(piece)

    def special(self):
        return {token: self.id(token) for token in ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<s>", "</s>", "<mask>"]}

    def frame(self, first, second=None):
        begin, end = self.id("<s>"), self.id("</s>")
        return [begin, *first, end] if second is None else [begin, *first, end, end, *second, end]


class BertLike(Family):
    def frame(self, first, second=None):
        ids = [self.id("[CLS]"), *first, self.id("[SEP]")]
        return ids if second is None else [*ids, *second, self.id("[SEP]")]

    def types(self, first, second):
        return [0] * (len(first) + 2) + [1] * (len(second) + 1)


class Albert(BertLike):
    ROLES = ("[CLS]", "[SEP]", "<pad>", "<unk>", "[MASK]")

    def bare(self, text):
        return super().bare(re.sub(r"\s+\[MASK\]", "[MASK]", text))

    def rewrite(self, text):
        text = text.replace("``", '"').replace("''", '"')
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        return text.lower()

    def cut(self, text):
        """A number and the comma behind it are no piece."""
        result = []
        for piece in super().cut(text):
            if len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit():
                again = self.pieces.encode(piece[:-1].replace("▁", ""), out_type=str)
                if piece[0] != "▁" and again[0][0] == "▁":
                    again = again[1:] if len(again[0]) == 1 else [again[0][1:], *again[1:]]
                result += [*again, ","]
            else:
                result.append(piece)
        return result


class DebertaV2(BertLike):
    FILE, UNKNOWN = "spm.model", "[UNK]"
    ROLES = ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")

    def id(self, piece):
        return self.pieces.get_piece_size() if piece == "[MASK]" else super().id(piece)


class Siglip(T5):
    ROLES = ("</s>", "<unk>", "<pad>")

    def extra(self):
        return 0

    def rewrite(self, text):
        return re.sub(r"\s+", " ", text.lower().translate(str.maketrans("", "", string.punctuation))).strip()


class Llama(Family):
    FILE, ROLES = "tokenizer.model", ("<s>", "</s>", "<unk>")

    def frame(self, first, second=None):
        return [1, *first] + ([1, *second] if second is not None else [])

    def types(self, first, second):
        return [0] * (len(first) + 1) + [1] * (len(second) + 1)


class Gemma(Llama):
    ROLES = ("<bos>", "<eos>", "<unk>", "<pad>", "<start_of_turn>")

    def frame(self, first, second=None):
        return [2, *first] + ([2, *second] if second is not None else [])


class Vocabulary(Family):
    """The ids are those of a vocab.json."""
    def table(self):
        return self.more["vocab__json"]

    def id(self, piece):
        return self.table().get(piece, self.table()["<unk>"])


class Marian(Vocabulary):
    FILE = "source.spm"

    def bare(self, text):
        code = re.match(r">>\w+<<", text)
        return ([self.id(code[0])] if code else []) + super().bare(text[code.end():] if code else text)

    def written(self, text):
        ids = self.bare(text)
        names = {number: token for token, number in self.table().items()}
        return None if set(self.special().values()) & set(ids) else "".join(names[i] for i in ids).replace("▁", " ").lstrip(" ")


class M2M100(Vocabulary):
    FILE = "sentencepiece.bpe.model"
    ROLES = ("<s>", "</s>", "<unk>", "<pad>")
    LANGUAGES = ("af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id ig "
                 "ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk "
                 "sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu").split()

    def id(self, piece):
        if len(piece) > 4 and piece[:2] == piece[-2:] == "__" and piece[2:-2] in self.LANGUAGES:
            return len(self.table()) + self.LANGUAGES.index(piece[2:-2])
        return super().id(piece)

    def special(self):
        return {**super().special(), **{f"__{code}__": self.id(f"__{code}__") for code in self.LANGUAGES}}

    def frame(self, first, second=None):
        return [self.id(f"__{self.config.get('src_lang', 'en')}__"), *first, *(second or []), self.id("</s>")]

    def written(self, text):
        known = all(piece in self.table() for piece in self.cut(text))
        return super().written(text) if known else None


def vector(kind, families, model_type, family, texts=()):
    cases = []
    for text in [*TEXTS, *texts]:
        bare = family.bare(text)
        cases.append({"text": text, "ids": family.frame(bare), "bare": bare, "decoded": family.written(text)})
    first, second = (family.bare(text) for text in family.PAIRS)
    pair = {"text": family.PAIRS[0], "pair": family.PAIRS[1], "ids": family.frame(first, second)}
    pair["types"] = family.types(first, second) if hasattr(family, "types") else [0] * len(pair["ids"])
    files = {name: base64.b64encode(content).decode() for name, content in family.files().items()}
    return {"kind": kind, "families": families, "model_type": model_type, "files": files, "cases": [*cases, pair]}


def numbered(*lists):
    """The vocab.json of fairseq and Marian: each token once, in order."""
    return {token: number for number, token in enumerate(dict.fromkeys(token for tokens in lists for token in tokens))}


def normal(model):
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [pieces.id_to_piece(i) for i in range(pieces.get_piece_size()) if not pieces.is_control(i) and not pieces.is_unknown(i)]


def main():
    end = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    bert = {"unk_id": 1, "bos_id": -1, "eos_id": -1, "pad_id": 0, "control_symbols": ["[CLS]", "[SEP]", "[MASK]"]}
    plain = train("unigram", 300)
    ending = train("unigram", 280, **end)
    exact = {"rules": None, "remove_extra_whitespaces": False, "byte_fallback": True}
    llama = train("bpe", 460, **exact, allow_whitespace_only_pieces=True)
    gemma = train("bpe", 450, **exact, add_dummy_prefix=False, allow_whitespace_only_pieces=True, pad_id=0, eos_id=1, bos_id=2, unk_id=3,
                  pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", user_defined_symbols=["<start_of_turn>"])
    merging = train("bpe", 300, bos_id=0, eos_id=1, unk_id=2)
    source, target = train("unigram", 260), train("unigram", 240, **end)
    # Marian's vocabulary is of both languages, and some pieces are in neither text.
    marian = numbered(["</s>", "<unk>"], [piece for i, piece in enumerate(normal(source)) if i % 9], ["ж", "🦙🦙", ">>deu<<", ">>fra<<"],
                      normal(target)[::2], ["<pad>"])
    m2m = numbered(["<s>", "<pad>", "</s>", "<unk>"], [piece for i, piece in enumerate(reversed(normal(merging))) if i % 11])
    masks = ["the <mask> text", "<s>x</s>", "a <pad>b <unk> c"]
    albert = train("unigram", 280, rules="AB\t22\n", **bert)
    vectors = {
        "t5": vector("Unigram", ["t5"], "t5", T5(ending), ["<extra_id_0> of <extra_id_99>", "a </s> b<pad>"]),
        "mt5": vector("Unigram", ["mt5", "umt5"], "mt5",
                      T5(train("unigram", 560, **end, byte_fallback=True, user_defined_symbols=["▁<extra_id_1>", "▁<extra_id_0>"]),
                         {"tokenizer_class": "T5Tokenizer", "extra_ids": 0}), ["<extra_id_0> of <extra_id_1>", "x <extra_id_0>y"]),
        "pegasus": vector("Unigram", ["pegasus"], "pegasus", Pegasus(ending, {"tokenizer_class": "PegasusTokenizer"}), ["the <mask_2> text <mask_1> <unk_7>"]),
        "mbart": vector("Unigram", ["mbart"], "mbart", MBart(plain, {"tokenizer_class": "MBartTokenizer", "src_lang": "de_DE"}), [*masks, "fr_XX x"]),
        "mbart50": vector("Unigram", ["mbart"], "mbart", MBart50(plain, {"tokenizer_class": "MBart50Tokenizer"}), [*masks, "sl_SI"]),
        "xlm-roberta": vector("Unigram", ["xlm-roberta"], "xlm-roberta", XLMRoberta(plain), masks),
        "camembert": vector("Unigram", ["camembert"], "camembert", Camembert(plain), masks),
        "albert": vector("Unigram", ["albert"], "albert", Albert(albert), ["the [MASK] text", "It costs 9,999, or 1,024,000,"]),
        "deberta-v2": vector("Unigram", ["deberta-v2"], "deberta-v2",
                             DebertaV2(train("unigram", 280, pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]",
                                             unk_piece="[UNK]"), {"do_lower_case": False, "vocab_type": "spm"}), ["the [MASK] text [UNK]"]),
        "siglip": vector("Unigram", ["siglip"], "siglip", Siglip(ending, {"tokenizer_class": "SiglipTokenizer"}), ["A photo, of \"the\" CAT's.\n"]),
        "llama": vector("SentencePiece BPE", ["llama", "mistral", "mixtral"], "llama", Llama(llama), ["<s>[INST] x [/INST]</s>", "    def x:\n\treturn"]),
        "gemma": vector("SentencePiece BPE", ["gemma", "gemma2", "gemma3_text"], "gemma", Gemma(gemma), ["<start_of_turn>user\nx<eos>"]),
        "marian": vector("Unigram", ["marian"], "marian", Marian(source, {"source_lang": "en", "target_lang": "de"}, vocab__json=marian),
                         [">>deu<< the words", ">>fra<<x", "a </s> b"]),
        "m2m-100": vector("SentencePiece BPE", ["m2m_100"], "m2m_100", M2M100(merging, {"src_lang": "fr"}, vocab__json=m2m), ["__de__ text", "</s>x"]),
    }
    out = HERE / "sentencepiece"
    out.mkdir(exist_ok=True)
    for name, content in vectors.items():
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in content.pop("cases"))
        head = json.dumps(content, ensure_ascii=False)[:-1]
        (out / f"{name}.json").write_text(f'{head},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")


main()
