"""Country names of the templates that are called by a country's three letters, as `{{FRA}}`.

What belongs here: the ISO and Olympic codes of the English Wikipedia's flag templates. Other wikis' names
for the countries are their own: there such a call stays an unhandled template.
"""

from __future__ import annotations

_CODES = """
Afghanistan:afg Albania:alb Algeria:dza:alg Andorra:and Angola:ago:ang Antigua_and_Barbuda:atg:ant
Argentina:arg Armenia:arm Aruba:abw:aru Australia:aus Austria:aut Azerbaijan:aze Bahamas:bhs:bah Bahrain:bhr
Bangladesh:bgd:ban Barbados:brb:bar Belarus:blr Belgium:bel Belize:blz:biz Benin:ben Bermuda:bmu:ber
Bhutan:btn:bhu Bolivia:bol Bosnia_and_Herzegovina:bih Botswana:bwa:bot Brazil:bra Brunei:brn:bru
Bulgaria:bgr:bul Burkina_Faso:bfa:bur Burundi:bdi Cambodia:khm:cam Cameroon:cmr Canada:can Cape_Verde:cpv
Cayman_Islands:cym:cay Central_African_Republic:caf Chad:tcd:cha Chile:chl:chi China:chn Colombia:col
Comoros:com Republic_of_the_Congo:cog:cgo Democratic_Republic_of_the_Congo:cod Cook_Islands:cok
Costa_Rica:cri:crc Ivory_Coast:civ Croatia:hrv:cro Cuba:cub Cyprus:cyp Czech_Republic:cze Denmark:dnk:den
Djibouti:dji Dominica:dma Dominican_Republic:dom Ecuador:ecu Egypt:egy El_Salvador:slv:esa
Equatorial_Guinea:gnq:geq Eritrea:eri Estonia:est Ethiopia:eth Fiji:fji:fij Finland:fin France:fra Gabon:gab
Gambia:gmb:gam Georgia:geo Germany:deu:ger Ghana:gha Greece:gre Greenland:grl Grenada:grd:grn
Guatemala:gtm:gua Guinea:gin:gui Guinea-Bissau:gnb Guyana:guy Haiti:hti:hai Honduras:hnd:hon Hong_Kong:hkg
Hungary:hun Iceland:isl India:ind Indonesia:idn:ina Iran:irn:iri Iraq:irq Ireland:irl Israel:isr Italy:ita
Jamaica:jam Japan:jpn Jordan:jor Kazakhstan:kaz Kenya:ken Kiribati:kir North_Korea:prk South_Korea:kor
Kuwait:kwt:kuw Kyrgyzstan:kgz Laos:lao Latvia:lva:lat Lebanon:lbn:lib Lesotho:lso:les Liberia:lbr
Libya:lby:lba Liechtenstein:lie Lithuania:ltu Luxembourg:lux Macau:mac North_Macedonia:mkd
Madagascar:mdg:mad Malawi:mwi:maw Malaysia:mys:mas Maldives:mdv Mali:mli Malta:mlt Marshall_Islands:mhl
Mauritania:mrt:mtn Mauritius:mus:mri Mexico:mex Federated_States_of_Micronesia:fsm Moldova:mda Monaco:mco
Mongolia:mng:mgl Montenegro:mne Morocco:mar Mozambique:moz Myanmar:mmr:mya Namibia:nam Nauru:nru
Nepal:npl:nep Netherlands:nld:ned New_Zealand:nzl Nicaragua:nic:nca Niger:ner Nigeria:nga:ngr Norway:nor
Oman:omn:oma Pakistan:pak Palau:plw Palestine:pse Panama:pan Papua_New_Guinea: Paraguay:pry Peru:
Philippines:phl:phi Poland:pol Portugal:prt:por Puerto_Rico:pri:pur Qatar:qat Romania:rou:rom Russia:rus
Rwanda:rwa Saint_Kitts_and_Nevis:kna:skn Saint_Lucia:lca Saint_Vincent_and_the_Grenadines:vct:vin
Samoa:wsm:sam San_Marino:smr São_Tomé_and_Príncipe:stp Saudi_Arabia:sau:ksa Senegal:sen Serbia:srb
Seychelles:syc:sey Sierra_Leone:sle Singapore:sgp Slovakia:svk Slovenia:svn:slo Solomon_Islands:slb:sol
Somalia:som South_Africa:zaf:rsa South_Sudan:ssd Spain:esp Sri_Lanka:lka:sri Sudan:sdn:sud Suriname:sur
Eswatini:swz Sweden:swe Switzerland:che:sui Syria:syr Taiwan:twn Tajikistan:tjk Tanzania:tza Thailand:tha
East_Timor:tls Togo:tgo:tog Tonga:ton:tga Trinidad_and_Tobago:tto:tri Tunisia:tun Turkey:tur
Turkmenistan:tkm Tuvalu:tuv Uganda:uga Ukraine:ukr United_Arab_Emirates:are:uae United_Kingdom:gbr
United_States:usa Uruguay:ury:uru Uzbekistan:uzb Vanuatu:vut Vatican_City:vat Venezuela:ven Vietnam:vnm:vie
Yemen:yem Zambia:zmb:zam Zimbabwe:zwe:zim Western_Sahara:esh Gibraltar:gib Guernsey:ggy Jersey:jey
Isle_of_Man:iom Faroe_Islands:fro Falkland_Islands:flk Anguilla:aia British_Virgin_Islands:vgb Curaçao:cur
Saint_Helena:shn Montserrat:msr United_States_Virgin_Islands:vir:isv Guam:gum American_Samoa:asm:asa
Turks_and_Caicos_Islands:tca French_Guiana:guf Guadeloupe:glp Martinique:mtq Réunion:reu
French_Polynesia:pyf New_Caledonia:ncl Kosovo:kos European_Union:eun
South_Georgia_and_the_South_Sandwich_Islands:sgs
"""

COUNTRIES: dict[str, str] = {
    code: name.replace("_", " ")
    for name, *codes in (entry.split(":") for entry in _CODES.split()) for code in codes
}
"""Country by code in lower case."""
