"""Cardinal numbers below 10,000 in English and French words."""

ENGLISH = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(),
           "- - twenty thirty forty fifty sixty seventy eighty ninety".split())
FRENCH = ("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize".split(),
          "- dix vingt trente quarante cinquante soixante soixante".split() + ["quatre vingt"] * 2)


def english(n):
    if n < 100:
        return ENGLISH[0][n] if n < 20 else ENGLISH[1][n // 10] + (" " + ENGLISH[0][n % 10] if n % 10 else "")
    unit, name = (1000, "thousand") if n >= 1000 else (100, "hundred")
    return f"{english(n // unit)} {name}" + (" " + english(n % unit) if n % unit else "")


def french(n, last=True):
    """Words of n; `last` ones of "vingt" and "cent" have a plural."""
    if n < 17:
        return FRENCH[0][n]
    if n < 100:
        tens, rest = n // 10, n % 10 + 10 * (n // 10 in (7, 9))
        if n == 80:
            return "quatre vingts" if last else "quatre vingt"
        return FRENCH[1][tens] + (" et " if rest in (1, 11) and 1 < tens < 8 else " " if rest else "") + (french(rest) if rest else "")
    if n < 1000:
        plural = "s" if last and n > 199 and n % 100 == 0 else ""
        return (french(n // 100) + " " if n > 199 else "") + "cent" + plural + (" " + french(n % 100) if n % 100 else "")
    return (french(n // 1000, False) + " " if n > 1999 else "") + "mille" + (" " + french(n % 1000) if n % 1000 else "")
