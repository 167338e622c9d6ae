"""Redirects that only their wikitext tells."""

from __future__ import annotations

import pytest

from pipelines.documents.readers.redirects import redirect_target


@pytest.mark.parametrize(("text", "target"), [
    ("#REDIRECT [[X]]", "X"), ("#redirect[[X]]", "X"), ("\n #Redirect : [[X]] {{R from move}}", "X"),
    ("#REDIRECT\n[[A b#Section|shown]]", "A b"), ("#REDIRECT [[:Category:Owls]]", "Category:Owls"),
    ("#REDIRECT [[A_b__c]]", "A b c"), ("#REDIRECT [[Caf%C3%A9]]", "Café"), ("#REDIRECT [[C# (language)]]", "C"),
    ("#WEITERLEITUNG [[Eule]]", "Eule"), ("#REDIRECTION [[Chouette]]", "Chouette"),
    ("#перенаправление [[Сова]]", "Сова"),
    ("#転送 [[フクロウ]]", "フクロウ"), ("#重定向 [[猫头鹰]]", "猫头鹰"), ("#đổi [[Cú]]", "Cú"),
    ("#đổi_hướng[[Cú]]", "Cú"),
    ("#تحويل [[بومة]]", "بومة"), ("#تغییر مسیر [[جغد]]", "جغد"),
    ("#הפניה [[ינשוף]]", "ינשוף"), ("#넘겨주기 [[올빼미]]", "올빼미"),
    ("#ՎԵՐԱՀՂՈՒՄ [[Բու]]", "Բու"), ("#PATRZ [[Sowa]]", "Sowa"), ("#पुनर्प्रेषित [[उल्लू]]", None)])
def test_target_in_many_languages_and_forms(text: str, target: str | None) -> None:
    assert redirect_target(text) == target


@pytest.mark.parametrize("text", [
    None, "", "# first\n# second", "Words.\n#REDIRECT [[X]]", "#REDIRECT", "#REDIRECT [[]]", "#REDIRECT X",
    "#REDIRECTED [[X]]", "# REDIRECT [[X]]", "#REDIRECT [[#Section]]", "<nowiki>#REDIRECT [[X]]</nowiki>",
    "#1 [[X]]", "#REDIRECT [[" + "x" * 100_000])
def test_what_is_no_redirect(text: str | None) -> None:
    assert redirect_target(text) is None
