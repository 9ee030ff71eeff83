"""Signs of several code points, each one for whoever reads it: the examples of Unicode Standard Annex 29."""

SIGNS = {
    "an accent": "e\u0301",
    "two accents": "a\u0308\u0323",
    "a syllable of Hangul": "\u1100\u1161\u11a8",
    "a vowel of Devanagari": "\u0928\u093f",
    "a vowel of Tamil": "\u0ba8\u0bbf",
    "a vowel of Thai": "\u0e01\u0e33",
    "a flag": "\U0001f1e9\U0001f1ea",
    "a skin tone": "\U0001f44d\U0001f3fd",
    "emoji that are joined": "\U0001f469\u200d\U0001f4bb",
    "a family": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "a skin tone, joined": "\U0001f469\U0001f3fd\u200d\U0001f680",
    "a variation selector": "\u2764\ufe0f",
    "a key": "1\ufe0f\u20e3",
    "a flag of tags": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
}
