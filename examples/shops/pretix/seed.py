"""Makes an event with one product, one voucher, and a token for the API."""

from datetime import timedelta

import django

django.setup()

from django.db.models import BooleanField  # noqa: E402
from django.utils.timezone import now  # noqa: E402
from django_scopes import scopes_disabled  # noqa: E402
from pretix.base.models import Event, Organizer, Team  # noqa: E402

with scopes_disabled():
    maker = Organizer.objects.create(name="maker", slug="maker")
    sale = Event.objects.create(organizer=maker, name="sale", slug="sale", currency="EUR", live=True,
                                date_from=now() + timedelta(days=30), plugins="pretix.plugins.manualpayment")
    lamp = sale.items.create(name="lamp", default_price=100)
    sale.quotas.create(name="lamps", size=None).items.add(lamp)
    sale.vouchers.create(code="SINGLE", max_usages=1, price_mode="percent", value=50)
    team = Team(organizer=maker, name="judge", all_events=True)
    for field in Team._meta.get_fields():  # the permissions of either version
        if isinstance(field, BooleanField) and field.name.startswith(("can_", "all_")):
            setattr(team, field.name, True)
    team.save()
    team.tokens.create(name="judge", token="t" * 64)
