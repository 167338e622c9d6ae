"""`{{convert}}`: values, precision, units and options, by hand from the template's documented behaviour."""

from __future__ import annotations

from decimal import Decimal

import pytest
from wikitext_trees import read, spans, words

from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.templates.formats import plain_number, rounded
from pipelines.documents.readers.templates.units import find_unit


@pytest.mark.parametrize(("call", "shown"), [
    # The default output, and names of one and of many.
    ("93|m", "93 metres (305 ft)"), ("2|km|mi", "2 kilometres (1.2 mi)"), ("7|mi|km", "7 miles (11 km)"),
    ("7.1|mi|km", "7.1 miles (11.4 km)"), ("7.0|mi|km", "7.0 miles (11.3 km)"), ("1|lb|kg", "1 pound (0.45 kg)"),
    ("1|mi", "1 mile (1.6 km)"), ("10|km", "10 kilometres (6.2 mi)"), ("5|acre", "5 acres (2.0 ha)"),
    ("1|ha", "1 hectare (2.5 acres)"), ("3.21|kg|lb", "3.21 kilograms (7.1 lb)"), ("0.5|in", "0.5 inches (13 mm)"),
    ("120|km/h", "120 kilometres per hour (75 mph)"), ("100|hp", "100 horsepower (75 kW)"),
    ("30|kn", "30 knots (56 km/h; 35 mph)"), ("2|m", "2 metres (6 ft 7 in)"),
    ("1000|m", "1,000 metres (3,300 ft)"), ("-5|m|ft", "−5 metres (−16 ft)"), ("0|m|ft", "0 metres (0 ft)"),
    ("10|L", "10 litres (2.2 imp gal; 2.6 US gal)"),
    # Precision: that of the value, at least two figures, as asked for.
    ("100|ft|m", "100 feet (30 m)"), ("123|ft|m", "123 feet (37 m)"), ("12345|ft|m", "12,345 feet (3,763 m)"),
    ("600|m|ft", "600 metres (2,000 ft)"), ("50|m", "50 metres (160 ft)"), ("49.5|m", "49.5 metres (162 ft)"),
    ("0.035|mi|km", "0.035 miles (0.056 km)"), ("1.23e3|m|km", "1.23e3 metres (1.23 km)"),
    ("2|km|mi|2", "2 kilometres (1.24 mi)"), ("100|ft|m|1", "100 feet (30.5 m)"),
    ("1234|ft|m|-2", "1,234 feet (400 m)"), ("1250|sqft|m2|sigfig=2", "1,250 square feet (120 m²)"),
    ("10|mi|km|sigfig=4", "10 miles (16.09 km)"), ("10|mi|km|round=5", "10 miles (15 km)"),
    ("13|mi|km|round=25", "13 miles (25 km)"),
    # Temperatures: three figures in kelvin.
    ("18|C|F", "18 °C (64 °F)"), ("100|°F", "100 °F (38 °C)"), ("0|C", "0 °C (32 °F)"),
    ("-40|C|F", "−40 °C (−40 °F)"), ("37.0|C", "37.0 °C (98.6 °F)"), ("5|C-change|F-change", "5 °C (9.0 °F)"),
    ("300|K", "300 K (27 °C; 80 °F)"),
    # Options.
    ("1|lb|kg|abbr=on", "1 lb (0.45 kg)"), ("1|lb|kg|abbr=off", "1 pound (0.45 kilograms)"),
    ("1|lb|kg|abbr=in", "1 lb (0.45 kilograms)"), ("10|km|mi|sp=us", "10 kilometers (6.2 mi)"),
    ("10|mi|km|adj=on", "10-mile (16 km)"), ("1|ft|m|adj=on", "1-foot (0.30 m)"),
    ("10|ft|m|adj=mid|-long", "10-foot-long (3.0 m)"), ("9|in|cm|adj=on|abbr=on", "9 in (23 cm)"),
    ("10|kg|lb|disp=or", "10 kilograms or 22 pounds"), ("10|km|mi|disp=out", "6.2 mi"),
    ("10|km|mi|disp=output only", "6.2 mi"), ("1500|km|mi|disp=number", "930"),
    ("10|km|mi|disp=comma", "10 kilometres, 6.2 mi"), ("10|km|mi|disp=sqbr", "10 kilometres [6.2 mi]"),
    ("10|km|mi|order=flip", "6.2 miles (10 km)"), ("10|km|mi|order=flip|abbr=on", "6.2 mi (10 km)"),
    ("10|km|mi nmi", "10 kilometres (6.2 mi; 5.4 nmi)"), ("10|km|mi+nmi", "10 kilometres (6.2 mi; 5.4 nmi)"),
    ("10|km|mi|disp=x| [about |]", "10 kilometres [about 6.2 mi]"),
    # Ranges: one precision for all values.
    ("5|to|10|km", "5 to 10 kilometres (3.1 to 6.2 mi)"), ("2|-|5|km|mi", "2–5 kilometres (1.2–3.1 mi)"),
    ("2|-|5|km|mi|2|abbr=on", "2–5 km (1.24–3.11 mi)"), ("1|to|2|m", "1 to 2 metres (3 ft 3 in to 6 ft 7 in)"),
    ("2|and|5|km|mi|sigfig=3|abbr=off", "2 and 5 kilometres (1.24 and 3.11 miles)"),
    ("60|and|170|kg|lb", "60 and 170 kilograms (130 and 370 lb)"), ("5|x|10|m", "5 by 10 metres (16 ft × 33 ft)"),
    ("5|×|10|m|abbr=on", "5 m × 10 m (16 ft × 33 ft)"), ("1|to|100|km", "1 to 100 kilometres (0.62 to 62.14 mi)"),
    ("10|+/-|1|m|ft", "10 ± 1 metres (32.8 ± 3.3 ft)"),
    # Two units.
    ("6|ft|2|in|m", "6 feet 2 inches (1.88 m)"), ("6|ft|1|in|cm", "6 feet 1 inch (185 cm)"),
    ("5|ft|6|in|m|abbr=on", "5 ft 6 in (1.68 m)"), ("5|ft|6|in|m|adj=on", "5-foot-6-inch (1.68 m)"),
    ("11|st|4|lb|kg", "11 stone 4 pounds (72 kg)"), ("1|lb|8|oz|kg", "1 pound 8 ounces (0.68 kg)"),
    ("1.88|m|ftin", "1.88 metres (6 ft 2 in)"), ("1.75|m|ftin|abbr=on", "1.75 m (5 ft 9 in)"),
    ("72|kg|stlb", "72 kilograms (11 st 5 lb)"),
    # Fractions, large numbers, densities, fuel.
    ("2+1/2|in|mm", "2 1⁄2 inches (64 mm)"), ("1/2|in|mm", "1⁄2 inch (13 mm)"),
    ("5|e6acre|e6ha", "5 million acres (2.0×10⁶ ha)"), ("100|e6mi|e6km", "100 million miles (160×10⁶ km)"),
    ("100|/km2|/sqmi", "100 per square kilometre (260/sq mi)"),
    ("100|PD/km2", "100 inhabitants per square kilometre (260/sq mi)"),
    ("30|mpgus|L/100km", "30 miles per US gallon (7.8 L/100 km)"),
])
def test_conversion(call: str, shown: str) -> None:
    assert words(f"X {{{{convert|{call}}}}} Y") == f"X {shown} Y"


def test_short_form_and_sentence() -> None:
    assert words("A {{cvt|1|lb|kg}} trout, {{cvt|10|-|20|mi}} away") == (
        "A 1 lb (0.45 kg) trout, 10–20 mi (16–32 km) away")


def test_powers_of_units_are_spans() -> None:
    assert spans("{{convert|2|sqmi}}") == [("sup", "²", None)]


@pytest.mark.parametrize(("call", "shown"), [
    ("5|to|10|flux|lumen", "5 to 10 flux"), ("12345|zorks", "12,345 zorks"), ("many|km|mi", "many km"),
    ("5|km|kg", "5 km"), ("5", "5"), ("5|km|zork", "5 km"),
])
def test_without_a_result_the_measure_stays_and_is_counted(call: str, shown: str) -> None:
    result = read(f"X {{{{convert|{call}}}}} Y")
    assert result.nodes[1].text == f"X {shown} Y"
    assert result.counts == {"conversions_without_result": 1}


@pytest.mark.parametrize(("language", "shown"), [
    ("vi", "1.234,5 km (767,1 mi)"), ("fr", "1 234,5 km (767,1 mi)"), ("ja", "1,234.5 km (767.1 mi)"),
    ("es", "1234,5 km (767,1 mi)"),
])
def test_other_languages_have_symbols_and_their_own_separators(language: str, shown: str) -> None:
    assert words("{{convert|1234.5|km|mi}}", SiteInfo.unknown(language)) == shown


@pytest.mark.parametrize(("call", "shown"), [
    ("{{height|m=1.88}}", "1.88 m (6 ft 2 in)"), ("{{height|ft=6|in=2}}", "6 ft 2 in (1.88 m)"),
    ("{{weight|kg=72}}", "72 kg (159 lb)"), ("{{convinfobox|93|m||ft}}", "93 m (305 ft)"),
])
def test_measures_of_infoboxes(call: str, shown: str) -> None:
    assert words(call) == shown


@pytest.mark.parametrize(("value", "digits", "shown"), [
    ("2.5", 0, "3"), ("-2.5", 0, "-3"), ("1234", -2, "1200"), ("0.045", 2, "0.05"), ("7", 3, "7.000"),
])
def test_rounding_goes_away_from_zero_at_the_half(value: str, digits: int, shown: str) -> None:
    assert rounded(Decimal(value), digits) == shown


@pytest.mark.parametrize("text", ["", "x", "1e400", "²", "٣", "1.2.3", "--1", "9" * 60])
def test_what_is_no_number(text: str) -> None:
    assert plain_number(text) is None


def test_units_convert_back_and_have_targets_of_their_kind() -> None:
    for code in ("km", "C", "F", "R", "L/100km", "mpgus", "e6km", "acre", "PD/km2"):
        unit = find_unit(code)
        assert unit is not None
        assert round(unit.from_base(unit.to_base(Decimal(37))), 9) == 37
        for target in unit.default.split():
            other = find_unit(target)
            assert other is not None, target
            assert other.kind == unit.kind
