import pytest

from viz_transformer.text.notation.numbers import nearest_number


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("12.5%", "12.5"),
        ("12.5 %", "12.5"),
        ("$5", "5"),
        ("-$1,000.50", "-1,000.50"),
        ("5 €", "5"),
        ("1e9", "1000000000"),
        ("-2.5E-3", "-0.0025"),
        ("3/4", "0.75"),
        ("6/3", "2"),
        ("MCMLXXXIV", "1984"),
        ("xiv", "14"),
        ("1,5", "1.5"),
        ("1.234,56", "1234.56"),
        ("\N{MINUS SIGN}3%", "-3"),
    ],
)
def test_what_is_meant_is_in_plain_digits(typed, meant):
    assert nearest_number(typed) == meant


@pytest.mark.parametrize(
    "typed", ["", "1/3", "1/0", "10:30", "twelve", "1.2.3", "1e-9", "1e", "%", "IIII", "VX", "12 apples", "9" * 9999]
)
def test_nothing_is_guessed_where_it_is_not_sure(typed):
    assert nearest_number(typed) is None
