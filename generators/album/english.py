"""Scenes and queries in English."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retgen.generators.album.asked import Asked
from retgen.generators.album.concepts import Album, Concept, Name
from retgen.generators.album.scenes import Scene, Seen

Choose = Callable[[int], int]  # a number below another
_NUMBERS = {2: "two", 3: "three"}


def _a(phrase: str) -> str:
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


class English:
    """`choose` deals synonyms and wordings."""

    def __init__(self, album: Album) -> None:
        self._concepts = album.concepts

    def caption(self, scene: Scene, choose: Choose) -> str:
        """One to two sentences that say all of a scene, and nothing else."""
        if scene.topic is not None:
            return self._document(scene, choose)
        what = self._counted(scene.subject, scene.number, scene.colour, choose)
        does = self._does(scene.action, scene.object, choose, True)
        where = self._place(scene.place, choose)
        when = self._name(scene.moment, choose).also if scene.moment else ""
        later = f" {when}" if when else ""
        verb = "is" if scene.number == 1 else "are"
        match choose(5):
            case 0:
                text = f"{_capital(what)} {verb} {does} {where}{later}"
            case 1:
                text = f"{_capital(when or where)}, {what} {verb} {does}"
                text += f" {where}" if when else ""
            case 2:
                text = f"The photo shows {what} {does} {where}{later}"
            case 3:
                text = f"A snapshot of {what} {does} {where}{later}"
            case _:
                text = f"{_capital(what)} {does} {where}" + (f", {when}" if when else "")
        return text + self._passing(scene.passing, choose) + "."

    def _passing(self, passing: Sequence[Seen], choose: Choose) -> str:
        if not passing:
            return ""
        seen = " and ".join(self._counted(one.thing, 1, one.colour, choose) for one in passing)
        match choose(5):
            case 0:
                return f", with {seen} in the background"
            case 1:
                return f". In the background there {'are' if len(passing) > 1 else 'is'} {seen}"
            case 2:
                return f". {_capital(seen)} can be seen further back"
            case 3:
                return f", with {seen} at the edge of the picture"
            case _:
                return f"; behind, half hidden, {seen}"

    def _document(self, scene: Scene, choose: Choose) -> str:
        name, topic = self._name(scene.subject, choose).text, self._name(scene.topic, choose).text
        dated = f" from {scene.month}" if scene.month else ""
        match choose(3):
            case 0:
                text = f"The picture shows {_a(name)}{dated} about {topic}"
            case 1:
                text = f"{_capital(_a(name))} about {topic}" + (
                    f", dated {scene.month}" if dated else ""
                )
            case _:
                text = f"A picture of {_a(name)}{dated}; it is about {topic}"
        for seen in scene.passing:
            other = self._name(seen.thing, choose).text
            text += [
                f", with a small link to a page on {other} at the bottom",
                f". A line in the footer mentions {other}",
                f", with a narrow banner on {other} at the edge",
            ][choose(3)]
        return text + "."

    # --- queries ----------------------------------------------------------------------------

    def query(self, asked: Asked, choose: Choose) -> str:
        """A short phrase that asks for it."""
        if asked.thing is None:
            does = self._does(asked.action, asked.object, choose, False)
            place = self._place(asked.place, choose) if asked.place and does else ""
            if asked.place and not does:
                place = self._name(asked.place, choose).text
            when = ""
            if asked.moment:
                name = self._name(asked.moment, choose)
                when = name.also if does or place else name.text
            return " ".join(part for part in (does, place, when) if part)
        whole = asked.action is not None and asked.place is not None
        text = self._phrase(asked, choose, whole)
        if asked.action:
            text += " " + self._does(asked.action, asked.object, choose, False)
        if asked.place:
            text += " " + self._place(asked.place, choose)
        if asked.moment:
            text += " " + self._name(asked.moment, choose).also
        if asked.month:
            text += f" from {asked.month}"
        if asked.topic:
            text += " about " + self._name(asked.topic, choose).text
        if asked.other:
            text += " and " + self._name(asked.other, choose).text
        return text

    def _phrase(self, asked: Asked, choose: Choose, article: bool) -> str:
        """What is asked for, with its number and colour."""
        assert asked.thing is not None
        name = self._name(asked.thing, choose)
        if asked.number:
            return self._with(name, asked.number, asked.colour)
        text = f"{asked.colour} {name.text}" if asked.colour else name.text
        concept = self._concepts[asked.thing]
        counted = name.also and concept.part in ("thing", "landmark") and concept.name != "food"
        return _a(text) if article and counted else text

    # --- parts ------------------------------------------------------------------------------

    def _name(self, concept: str | None, choose: Choose) -> Name:
        assert concept is not None
        names = self._concepts[concept].english
        return names[choose(len(names))]

    def _counted(self, concept: str, number: int, colour: str | None, choose: Choose) -> str:
        return self._with(self._name(concept, choose), number, colour)

    def _with(self, name: Name, number: int, colour: str | None) -> str:
        before = f"{colour} " if colour else ""
        if name.unit is not None:
            unit = _a(name.unit[0]) if number == 1 else f"{_NUMBERS[number]} {name.unit[1]}"
            return f"{unit} of {before}{name.text}"
        if number == 1:
            return _a(before + name.text)
        return f"{_NUMBERS[number]} {before}{name.also}"

    def _does(self, action: str | None, thing: str | None, choose: Choose, caption: bool) -> str:
        if action is None:
            return ""
        text = self._name(action, choose).text
        if thing is None:
            return text
        name = self._name(thing, choose)
        bare = name.unit is not None or not name.also or thing == "food"
        return f"{text} {name.text if bare else _a(name.text)}"

    def _place(self, place: str | None, choose: Choose) -> str:
        assert place is not None
        concept: Concept = self._concepts[place]
        name = self._name(place, choose)
        if concept.part == "landmark":
            return f"in front of {_a(name.text)}"
        return name.text if name.also == "=" else f"{name.also} {name.text}"
