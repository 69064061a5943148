"""Quasi-identifiers: what outsiders may know of a person, told by the names of columns."""

from __future__ import annotations

from understudy.tables.detect import plain, words_of

_WORDS_BY_TOPIC = {
    "age and birth":
    "age ages agegroup alter edad idade eta leeftijd wiek alder birth birthdate birthday "
    "birthyear dob yob born geburt geburtsdatum geburtsjahr naissance nacimiento "
    "nascimento nascita geboorte",
    "sex":
    "sex sexe sexo sesso gender geschlecht genre genero geslacht kjonn kon plec",
    "places":
    "zip zipcode plz postcode postal postleitzahl cp cep cap region regione land "
    "bundesland kanton canton county country state province provincia departement "
    "department municipality gemeinde commune comune municipio gmina district bezirk "
    "kreis town city ville ciudad citta cidade stadt village ward residence wohnort "
    "nationality nationalitaet nationalite nacionalidad native birthplace geburtsort "
    "staatsangehoerigkeit",
    "belonging":
    "race ethnicity ethnic ethnie etnia raza rasse religion religione confession language "
    "sprache langue idioma marital civil familienstand etat estado zivilstand "
    "relationship",
    "standing":
    "occupation profession beruf ocupacion profesion professione job metier education "
    "bildung schooling diplome veteran household haushalt menage hogar",
}  # fmt: skip
_BORN = frozenset(_WORDS_BY_TOPIC["age and birth"].split())
_WORDS = frozenset(word for words in _WORDS_BY_TOPIC.values() for word in words.split())


def likely_quasi(name: str) -> bool:
    """Tell whether a column's name says that outsiders may know it of a person.

    Example:
        >>> likely_quasi("AgeGroup"), likely_quasi("Código postal"), likely_quasi("page")
        (True, True, False)
    """
    return bool((words_of(name) | {plain(name)}) & _WORDS)


def tells_age(name: str) -> bool:
    """Tell whether a column's name says that it holds an age or a birth.

    Example:
        >>> tells_age("age"), tells_age("date_of_birth"), tells_age("region")
        (True, True, False)
    """
    return bool((words_of(name) | {plain(name)}) & _BORN)
